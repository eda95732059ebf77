"""FSDP312: some group of a model gives its gathered parameters back after forward."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import ReshardingSettled
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class ReshardDisabled(Rule):
    code = "FSDP312"
    summary = "every group is sharded with reshard_after_forward=False"
    severity = Severity.WARNING
    judged_by = "SRP"
    help = "leave reshard_after_forward out, or silence this where memory is traded for speed on purpose"

    def settled(self, event: ReshardingSettled) -> Outcomes:
        resharding = event.resharding
        yield APPLIES
        kept = resharding.never()
        if kept:
            yield self.found(
                kept.what.when,
                f"no group of {resharding.label} is resharded after forward: until backward, each rank holds all of it",
                "reshard_after_forward=False keeps what was gathered, as in every other group",
            )
