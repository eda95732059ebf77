"""FSDP501: weights are kept in full precision where the optimizer updates them."""

from __future__ import annotations

from fsdp2_lint.vocab.events.precision import WeightsTrained
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class LowPrecisionMasterWeights(Rule):
    code = "FSDP501"
    summary = "the sharded parameters and the optimizer's states are bf16 or fp16"
    severity = Severity.WARNING
    judged_by = "SRP"
    help = (
        "keep float32 parameters, and use MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)"
    )

    def trained(self, event: WeightsTrained) -> Outcomes:
        yield APPLIES
        if low := event.optimizer.low_precision():
            dtype = low.what.words
            yield self.found(
                event.when,
                f"{event.optimizer.label} updates {dtype} weights of {event.model.label}: small updates are lost",
                f"its parameters and states are {dtype}",
                (low.what.when, f"the parameters are {dtype} from here on"),
                cause=low.what.when,
            )
