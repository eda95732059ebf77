"""FSDP906: the target torch has what the program uses of FSDP2."""

from __future__ import annotations

from fsdp2_lint.vocab.events.migration import ApiUsed
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity
from fsdp2_lint.vocab.target import in_words


class ApiNotInTargetTorch(Rule):
    code = "FSDP906"
    summary = "a keyword, method or name that the target torch does not have"
    severity = Severity.ERROR
    judged_by = "S"
    help = "raise the version of torch that the project requires (see target-torch), or ask for the version before"

    def used(self, event: ApiUsed) -> Outcomes:
        yield APPLIES
        if absent := event.use.absent(self.target):
            yield self.found(
                event.when,
                f"{event.name} is not in {in_words(self.target)}: {absent.what.words}",
                "it is used here",
            )
