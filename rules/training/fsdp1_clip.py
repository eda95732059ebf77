"""FSDP606: gradients are clipped by torch's function, not by a method of the model."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import ClipAsked
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class Fsdp1Clip(Rule):
    code = "FSDP606"
    summary = "FSDP1's model.clip_grad_norm_() on an FSDP2 model"
    severity = Severity.ERROR
    judged_by = "S"
    help = "call torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)"

    def asked(self, event: ClipAsked) -> Outcomes:
        yield APPLIES
        lacking = event.model.lacks_it()
        if not lacking:
            return
        if not event.model.goes_on():
            yield self.found(
                event.when,
                f"{event.model.label} has no clip_grad_norm_() under FSDP2: this raises an AttributeError",
                "a method of FSDP1's wrapper",
                (lacking.what.when, lacking.what.words),
                fix=event.fix,
            )
