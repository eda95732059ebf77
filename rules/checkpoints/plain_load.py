"""FSDP705: a sharded model does not take a plain, full state dict."""

from __future__ import annotations

from fsdp2_lint.vocab.events.checkpoints import Loaded
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class PlainLoad(Rule):
    code = "FSDP705"
    summary = "model.load_state_dict(full) on a sharded model"
    severity = Severity.ERROR
    judged_by = "SR"
    help = (
        "load before sharding, or use set_model_state_dict(model, state_dict, "
        "options=StateDictOptions(full_state_dict=True))"
    )

    def loaded(self, event: Loaded) -> Outcomes:
        sharded = event.model.touched()
        if not sharded:
            return
        yield APPLIES
        if event.payload.full_tensors():
            yield self.found(
                event.when,
                f"plain tensors are loaded into {event.model.label}, whose parameters are DTensors",
                "load_state_dict copies plain tensors into DTensors here",
                (next(iter(sharded)), "the model is sharded here"),
            )
