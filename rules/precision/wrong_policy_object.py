"""FSDP503: policies are objects of FSDP2."""

from __future__ import annotations

from fsdp2_lint.vocab.behaviour import POLICY_IS_COPIED
from fsdp2_lint.vocab.events.precision import PoliciesTaken
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity
from fsdp2_lint.vocab.target import in_words

MEANT_AS_OFF = ("None", "the class OffloadPolicy")  # and off it is


class WrongPolicyObject(Rule):
    code = "FSDP503"
    summary = "mp_policy or offload_policy is no policy object of FSDP2"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "pass an instance: MixedPrecisionPolicy(...), CPUOffloadPolicy(), or leave the keyword out"

    def taken(self, event: PoliciesTaken) -> Outcomes:
        yield APPLIES
        wrong = event.policies.wrong_policies()
        if not wrong:
            return
        for keyword, given, made in wrong:
            harmless = keyword == "offload_policy" and given in MEANT_AS_OFF
            yield self.found(
                event.when,
                f"{keyword} is {given}, which is no policy of FSDP2: {self._fate(keyword)}",
                "the policy is passed here",
                severity=Severity.INFO if harmless else None,
                cause=made,
            )

    def _fate(self, keyword: str) -> str:
        raises = keyword == "mp_policy" and POLICY_IS_COPIED.of(self.target)
        return f"{in_words(self.target)} raises" if raises else "it is ignored, or fails later"
