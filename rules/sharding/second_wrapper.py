"""FSDP310: FSDP2 alone takes care of the parameters that it shards."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import ParametersExchanged, WrappedAgain
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class SecondWrapper(Rule):
    code = "FSDP310"
    summary = "DDP, FSDP1 or a collective of the program's own takes hold of sharded parameters"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "leave it out: FSDP2 gathers the parameters and reduces their gradients itself"

    def wrapped(self, event: WrappedAgain) -> Outcomes:
        composition = event.composition
        yield APPLIES
        sharded = composition.sharded_before()
        if sharded:
            yield self.found(
                event.when,
                f"{event.by} is put around {composition.label}, whose parameters FSDP2 has sharded",
                "a second wrapper for the same parameters",
                (sharded.what.when, "they are sharded here"),
            )

    def exchanged(self, event: ParametersExchanged) -> Outcomes:
        composition = event.composition
        yield APPLIES
        sharded = composition.sharded_before()
        if sharded:
            yield self.found(
                event.when,
                f"{event.name} on a parameter of {composition.label}, of which each rank holds another shard",
                "a DTensor has no such operation: an exception is raised here",
                (sharded.what.when, "the parameters are sharded here"),
            )
