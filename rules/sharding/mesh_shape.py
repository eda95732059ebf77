"""FSDP311: the mesh has dimensions that FSDP2 can use."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import OptionsGiven
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class MeshShape(Rule):
    code = "FSDP311"
    summary = "the mesh, or the number of ranks to reshard to, does not fit fully_shard"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "pass a 1-D mesh, or a 2-D mesh named (replicate, shard); reshard to a divisor of the shard dimension"

    def given(self, event: OptionsGiven) -> Outcomes:
        options = event.options
        yield APPLIES
        refused, misread = options.refused(), options.misread()
        if not (refused | misread):
            return
        if refused.surely:
            yield self.found(
                event.when,
                f"fully_shard refuses this call: {refused.what.words}",
                "an exception is raised here",
                (refused.what.when, "the mesh is made here"),
            )
        else:
            yield self.found(
                event.when,
                f"{misread.what.words}, but FSDP2 replicates over the first dimension and shards over the second",
                "each parameter is copied over the first dimension and cut along the second",
                (misread.what.when, "the dimensions are named here"),
                severity=Severity.WARNING,
            )
