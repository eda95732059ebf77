"""FSDP404: a sharded weight is used where its group is gathered."""

from __future__ import annotations

from fsdp2_lint.vocab.events.forward import WeightUsed
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class WeightUsedOutsideForward(Rule):
    code = "FSDP404"
    summary = "a sharded weight is used outside the forward that gathers it"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "use the weight inside the forward of the module that is sharded, or gather it first with full_tensor()"

    def used(self, event: WeightUsed) -> Outcomes:
        sharded = event.weight.sharded()
        if not sharded:
            return
        yield APPLIES
        if event.weight.gathered():
            return
        yield self.found(
            event.when,
            f"{event.weight.label} is used while its group is sharded: nothing gathers it here",
            "it is a shard here, and meets a full tensor",
            (sharded.what, "its group is made here"),
        )
