"""FSDP619: gradients of sharded parameters come from backward()."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import GradientsAsked
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class AutogradGradUnreduced(Rule):
    code = "FSDP619"
    summary = "torch.autograd.grad on parameters of a sharded model"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "take the gradient of an activation instead, or use backward() and p.grad"

    def taken(self, event: GradientsAsked) -> Outcomes:
        yield APPLIES
        if sharded := event.model.unreduced():
            yield self.found(
                event.when,
                f"torch.autograd.grad returns each rank's own gradient for parameters of {event.model.label}: FSDP2 "
                "reduces only what backward() computes",
                "nothing adds these up over the ranks; for sharded parameters they are None",
                (sharded.what.when, "the parameters are sharded here"),
            )
