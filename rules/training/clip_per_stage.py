"""FSDP618: the stages of a pipeline are clipped by one norm."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import GradientsClipped
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class ClipPerStage(Rule):
    code = "FSDP618"
    summary = "each stage of a pipeline clips by its own norm"
    severity = Severity.ERROR
    judged_by = "SR"
    help = "add up the squares of get_total_norm over the pipeline's group, then call clip_grads_with_norm_"

    def clipped(self, event: GradientsClipped) -> Outcomes:
        yield APPLIES
        if stage := event.model.by_its_own_norm():
            yield self.found(
                event.when,
                f"the gradients of {event.model.label}, one stage of a pipeline, are clipped by its own norm: each "
                "stage scales them by another factor",
                "clip_grad_norm_ does not know the gradients of the other stages",
                (stage.what.when, stage.what.words),
            )
