"""FSDP807: an error of one rank in forward or backward ends the job."""

from __future__ import annotations

from fsdp2_lint.vocab.events.ranks import StepGuarded
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class SwallowedStepError(Rule):
    code = "FSDP807"
    summary = "an except around forward or backward lets one rank go on, while the others wait for its collectives"
    severity = Severity.WARNING
    judged_by = "S"
    help = "let the error end the job (raise), and make room for the batch beforehand"

    def guarded(self, event: StepGuarded) -> Outcomes:
        yield APPLIES
        if step := event.handler.swallows():
            yield self.found(
                event.when,
                "an error on one rank is caught and its loop goes on: that rank's next collective meets another one "
                "of the ranks that had no error, and the job hangs or computes with wrong numbers",
                "the error ends here, and the loop goes on",
                (step.what.when, step.what.words),
            )
