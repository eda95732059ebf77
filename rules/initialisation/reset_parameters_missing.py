"""FSDP207: a model whose ``reset_parameters`` is called has that method."""

from __future__ import annotations

from fsdp2_lint.vocab.events.initialisation import ResetCalled
from fsdp2_lint.vocab.finding import Severity
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule


class ResetParametersMissing(Rule):
    code = "FSDP207"
    summary = "reset_parameters() is called on a class that does not define it"
    severity = Severity.ERROR
    judged_by = "SP"
    help = "loop over model.modules() and reset those that have the method, or define it in the class"

    def reset(self, event: ResetCalled) -> Outcomes:
        yield APPLIES
        if missing := event.model.without_reset_parameters():
            yield self.found(
                event.when,
                f"{event.model.label} has no reset_parameters: this call raises AttributeError",
                "nn.Module does not define it, only layers such as nn.Linear do",
                (missing.what.when, missing.what.words),
            )
