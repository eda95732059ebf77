"""FSDP711: the state-dict helpers are called with keywords that they have."""

from __future__ import annotations

from fsdp2_lint.vocab.events.checkpoints import HelperCalled
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class WrongDcpKeyword(Rule):
    code = "FSDP711"
    summary = "a keyword that the state-dict helper does not have"
    severity = Severity.ERROR
    judged_by = "S"
    help = (
        "the helpers take model, optimizers, model_state_dict, optim_state_dict and options; "
        "what shall be gathered, offloaded or broadcast is said in StateDictOptions(...)"
    )

    def called(self, event: HelperCalled) -> Outcomes:
        yield APPLIES
        strange = event.helper.strange_keywords()
        if not strange:
            return
        for keyword in strange:
            yield self.found(
                keyword.when,
                f"{event.helper.name}() has no keyword {keyword.name!r}: the call raises TypeError",
                "not a keyword of this helper",
                fix=keyword.fix,
            )
