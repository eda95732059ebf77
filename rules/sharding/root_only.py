"""FSDP301: a model of repeated blocks must not be one single group."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import PlanSettled
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity

SMALL = 10_000_000  # parameters: below that, gathering all at once costs nothing worth a warning


class RootOnly(Rule):
    code = "FSDP301"
    summary = "only the topmost module, or one list of all blocks, is sharded"
    severity = Severity.WARNING
    judged_by = "SRP"
    help = "call fully_shard on each block first, then on the root"

    def settled(self, event: PlanSettled) -> Outcomes:
        model = event.model
        whole = model.one_group()
        if not whole:
            return
        yield APPLIES
        if model.inner_units() or not model.repeats() or model.frozen():
            return
        count = model.parameter_count()
        small = bool(count) and count.what < SMALL
        yield self.found(
            whole.what,
            f"{model.label} is one group: each forward gathers all of its parameters at once",
            f"{model.repeats().what} could be sharded block by block",
            severity=Severity.INFO if small else None,
        )
