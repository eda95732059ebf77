"""FSDP304: nothing trainable is attached to a model once it is sharded."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import PlanSettled
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class AddedAfterSharding(Rule):
    code = "FSDP304"
    summary = "modules, adapters or parameters are attached after fully_shard"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "attach it before fully_shard, or shard the new module itself"

    def settled(self, event: PlanSettled) -> Outcomes:
        yield APPLIES
        late = event.model.added_late()
        if not late:
            return
        for attached, name, sharded in late:
            yield self.found_order(
                (sharded, "the model is sharded here"),
                (attached, f"{name} is attached here and belongs to no group"),
                f"{name} is attached after fully_shard: it is not sharded, and its gradients are not reduced",
                blame="late",
                cause="early",
            )
