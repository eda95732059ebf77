"""FSDP604: gradients are reduced before they are used."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import NOT_AWAITED, UNFINISHED, GradientsUsed
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class GradientSyncLeftOff(Rule):
    code = "FSDP604"
    summary = "gradients are not reduced before the step: what switches that off is not taken back"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = (
        "call model.set_requires_gradient_sync(is_last_microbatch) before each backward; "
        "where finalisation is manual, finalize_backward() comes last"
    )

    def used(self, event: GradientsUsed) -> Outcomes:
        yield APPLIES
        unsynchronised = event.model.unsynchronised()
        if not unsynchronised:
            return
        for label, switched_off in unsynchronised:
            yield self.found(
                switched_off.when,
                f"the last backward before the step {_what_is_missing(switched_off.words, label)}",
                _since(switched_off.words),
                (event.when, "the step runs without these gradients"),
            )


def _since(switch: str) -> str:
    return f"{switch} is in force from here on" if switch != NOT_AWAITED else "the reduction is begun here, and goes on"


def _what_is_missing(switch: str, label: str) -> str:
    if switch == UNFINISHED:
        return f"is not finished: nothing calls finalize_backward(), and not all gradients of {label} are reduced"
    if switch == NOT_AWAITED:
        return f"is not finished: nothing waits for the handle by which the gradients of {label} are reduced"
    return f"reduces no gradients of {label}: the optimizer has none"
