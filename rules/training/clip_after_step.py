"""FSDP612: gradients are clipped before the optimizer uses them."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import GradientsClipped
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class ClipAfterStep(Rule):
    code = "FSDP612"
    summary = "gradients are clipped after optimizer.step()"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "clip between backward() and optimizer.step()"

    def clipped(self, event: GradientsClipped) -> Outcomes:
        yield APPLIES
        if used := event.model.used_before():
            yield self.found_order(
                (used.what.when, used.what.words),
                (event.when, "they are clipped only here"),
                f"the gradients of {event.model.label} are clipped after the step that used them: no step is clipped",
                blame="late",
            )
