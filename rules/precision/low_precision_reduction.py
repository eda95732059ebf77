"""FSDP502: gradients that are computed in 16 bits are summed up in 32."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.events.precision import PoliciesTaken
from fsdp2_lint.vocab.rule import APPLIES, Outcome, Rule, Severity


class LowPrecisionReduction(Rule):
    code = "FSDP502"
    name = "low-precision-reduction"
    summary = "param_dtype is bf16 or fp16, and reduce_dtype is not set"
    severity = Severity.INFO
    witnesses = "SR"
    help = "set reduce_dtype=torch.float32, or reduce_dtype to the 16 bits that are meant"

    def taken(self, event: PoliciesTaken) -> Iterator[Outcome]:
        yield APPLIES
        low = event.policies.reduced_low()
        if not low:
            return
        for policy in low:
            yield self.found(
                policy.when,
                f"the ranks add up the gradients of {event.policies.label} in {policy.words}",
                "this policy sets no reduce_dtype: gradients keep the dtype of the computation",
                (event.when, "it is passed here"),
            )
