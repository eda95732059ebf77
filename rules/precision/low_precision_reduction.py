"""FSDP502: a policy that computes in 16 bits says in which dtype gradients are summed up."""

from __future__ import annotations

from fsdp2_lint.vocab.behaviour import REDUCED_AS_COMPUTED
from fsdp2_lint.vocab.events.precision import PoliciesTaken
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity
from fsdp2_lint.vocab.target import in_words


class LowPrecisionReduction(Rule):
    code = "FSDP502"
    summary = "param_dtype is bf16 or fp16, and reduce_dtype is not set"
    severity = Severity.INFO
    judged_by = "SR"
    help = "say what is meant: reduce_dtype=torch.float32, or reduce_dtype=torch.bfloat16 for half of the traffic"

    def taken(self, event: PoliciesTaken) -> Outcomes:
        yield APPLIES
        low = event.policies.reduced_low()
        if not low:
            return
        for policy in low:
            yield self.found(
                policy.when,
                self._message(event.policies.label, policy.words),
                self._label(),
                (event.when, "it is passed here"),
            )

    def _message(self, label: str, dtype: str) -> str:
        if not REDUCED_AS_COMPUTED.of(self.target):
            return (
                f"{in_words(self.target)} reduces the gradients of {label} in the dtype of its parameters and not in "
                f"{dtype}, as older ones did: with float32 parameters that is twice the traffic"
            )
        return f"in {in_words(self.target)} the ranks add up the gradients of {label} in {dtype}"

    def _label(self) -> str:
        kept = "dtype of the computation" if REDUCED_AS_COMPUTED.of(self.target) else "dtype of the parameters"
        return f"this policy sets no reduce_dtype: gradients are reduced in the {kept}"
