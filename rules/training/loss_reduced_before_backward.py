"""FSDP610: what is reduced over the ranks for a report is a copy of the loss."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import TensorReduced
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class LossReducedBeforeBackward(Rule):
    code = "FSDP610"
    summary = "dist.all_reduce() on the loss before its backward, which autograd does not see"
    severity = Severity.ERROR
    judged_by = "S"
    help = "reduce loss.detach().clone() for the report, and call backward() on the loss of this rank"

    def reduced(self, event: TensorReduced) -> Outcomes:
        yield APPLIES
        if backward := event.reduction.differentiated():
            yield self.found(
                event.when,
                "all_reduce() changes the loss in place and autograd does not see it: "
                "the gradients stay those of this rank's loss, and a division by the ranks makes them too small",
                "the loss is overwritten with the sum over the ranks",
                (backward.what.when, backward.what.words),
            )
