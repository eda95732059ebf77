"""FSDP608: the optimizer of a sharded model works on shards."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import OptimizerSettled
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class ShardUnsafeOptimizer(Rule):
    code = "FSDP608"
    summary = "an optimizer that needs whole matrices, or plain tensors, is given sharded parameters"
    severity = Severity.ERROR
    judged_by = "SR"
    help = "use an optimizer that works element by element (AdamW, SGD, Lion) or knows DTensors (torch.optim.Muon)"

    def settled(self, event: OptimizerSettled) -> Outcomes:
        yield APPLIES
        if unsafe := event.optimizer.unsafe_on_shards():
            yield self.found(
                event.when,
                f"{event.optimizer.label} {unsafe.what.words}",
                f"it gets the sharded parameters of {event.model.label} here",
                (unsafe.what.when, "the parameters become shards here"),
            )
