"""FSDP408: parameters stay as they are from a forward to its backward."""

from __future__ import annotations

from fsdp2_lint.vocab.events.forward import GradientsTaken
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class ParametersChangedBeforeBackward(Rule):
    code = "FSDP408"
    summary = "parameters are written between a forward and its backward"
    severity = Severity.ERROR
    judged_by = "SR"
    help = "move the write behind backward(), or in front of the forward"

    def taken(self, event: GradientsTaken) -> Outcomes:
        yield APPLIES
        changed = event.taken.changed()
        if not changed:
            return
        yield self.found(
            event.when,
            f"{changed.what.words} changed since the forward: "
            "the gradients are computed with weights that it did not use",
            "backward gathers the weights as they are now",
            (changed.what.when, "the forward ran with the weights as they were"),
            *((place.when, place.words) for place in event.taken.writes()),
        )
