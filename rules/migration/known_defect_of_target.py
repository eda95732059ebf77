"""FSDP910: the program does not need what the target torch does wrong."""

from __future__ import annotations

from fsdp2_lint.vocab.events.migration import DefectPossible
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class KnownDefectOfTarget(Rule):
    code = "FSDP910"
    summary = "the program meets a known defect of the torch that it will run on"
    severity = Severity.WARNING
    judged_by = "SP"
    help = "upgrade to a torch that has the fix, or change the program as the message says"

    def possible(self, event: DefectPossible) -> Outcomes:
        defect = event.defect
        if not defect.behaviour.of(self.target):
            return
        yield APPLIES
        if met := event.model.meets():
            yield self.found(
                met.what.when,
                defect.in_words(self.target),
                met.what.words,
                (event.when, f"it concerns {event.model.label}"),
                cause=met.what.when.at,
            )
