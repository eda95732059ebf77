"""FSDP612: gradients are clipped before the optimizer uses them."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.events.training import GradientsClipped
from fsdp2_lint.vocab.rule import APPLIES, Outcome, Rule, Severity


class ClipAfterStep(Rule):
    code = "FSDP612"
    name = "clip-after-step"
    summary = "gradients are clipped after optimizer.step()"
    severity = Severity.ERROR
    witnesses = "SRP"
    help = "clip between backward() and optimizer.step()"

    def clipped(self, event: GradientsClipped) -> Iterator[Outcome]:
        yield APPLIES
        used = event.model.used_before()
        if used:
            yield self.found_order(
                (used.what.when, used.what.words),
                (event.when, "they are clipped only here"),
                f"the gradients of {event.model.label} are clipped after the step that used them: no step is clipped",
                blame="late",
            )
