"""FSDP611: every trainable parameter belongs to an optimizer."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import TrainingSeen
from fsdp2_lint.vocab.finding import listed
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class ParameterWithoutOptimizer(Rule):
    code = "FSDP611"
    summary = "trainable parameters that no optimizer holds"
    severity = Severity.WARNING
    judged_by = "RP"
    help = "give them to an optimizer, or freeze them with requires_grad_(False) before sharding"

    def seen(self, event: TrainingSeen) -> Outcomes:
        yield APPLIES
        if forgotten := event.model.without_optimizer():
            built, names = forgotten.what
            yield self.found(
                built,
                f"no optimizer holds {listed(names)} of {event.model.label}: gradients are computed for nothing",
                "this optimizer holds others of its parameters",
            )
