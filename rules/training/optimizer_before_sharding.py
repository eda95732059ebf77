"""FSDP601: an optimizer must be built from the parameters that ``fully_shard`` left behind."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import OptimizerSettled
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class OptimizerBeforeSharding(Rule):
    code = "FSDP601"
    summary = "an optimizer is built before the last fully_shard that covers its parameters"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "build the optimizer, and every list of parameters for it, after the last fully_shard"

    def settled(self, event: OptimizerSettled) -> Outcomes:
        yield APPLIES
        replaced = event.optimizer.replaced()
        if not replaced:
            return
        for stale in replaced:
            came = "comes in finished, next to" if stale.given else "takes the parameters of"
            yield self.found_order(
                (stale.read, f"{event.optimizer.label} {came} {stale.label} here"),
                (stale.replaced, "fully_shard replaces them here"),
                f"the optimizer is built before fully_shard replaces the parameters of {stale.label}: they never train",
                blame="late" if stale.given else "early",
                fix=stale.fix,
            )
