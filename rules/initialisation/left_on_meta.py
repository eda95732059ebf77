"""FSDP202: a model that was made on the meta device gets memory before it runs."""

from __future__ import annotations

from fsdp2_lint.vocab.events.initialisation import MetaModelCalled
from fsdp2_lint.vocab.finding import Severity
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule


class LeftOnMeta(Rule):
    code = "FSDP202"
    summary = "a meta model is sharded and called, and never gets memory"
    severity = Severity.ERROR
    judged_by = "SP"
    help = "after fully_shard, call to_empty(device=...) on the model and initialise or load its weights"

    def called(self, event: MetaModelCalled) -> Outcomes:
        yield APPLIES
        model = event.model
        left = model.left_on_meta()
        if left:
            yield self.found(
                left.what.when,
                f"{model.label} is made on the meta device, and nothing gives it memory before it runs",
                "its parameters have a shape and no memory",
                *((place.when, place.words) for place in model.sharded_at()),
                *((place.when, place.words) for place in model.written_in_other_runs()),
                (event.when, "the model runs here: FSDP2 raises, since its parameters are still on meta"),
            )
