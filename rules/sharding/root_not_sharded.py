"""FSDP303: whatever trains must lie in some group, so the root is sharded too."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import PlanSettled
from fsdp2_lint.vocab.finding import listed
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class RootNotSharded(Rule):
    code = "FSDP303"
    summary = "children are sharded, and trainable parameters stay outside every group"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "call fully_shard(model) on the root, after its children"

    def settled(self, event: PlanSettled) -> Outcomes:
        model = event.model
        if model.sharded():
            if event.takes_all and not model.added_late():
                yield APPLIES  # its group takes every parameter that is in no other one
            return
        if not model.trained():
            return
        yield APPLIES
        units = model.units()
        outside = model.outside()
        if outside and units:
            yield self.found(
                units.items[0],
                f"{model.label} itself is never sharded: the gradients of {listed(outside.what)} are not reduced",
                f"only parts of {model.label} are sharded",
            )
