"""FSDP406: a model that trains is evaluated under no_grad, not under inference_mode."""

from __future__ import annotations

from fsdp2_lint.vocab.events.forward import CalledInInference
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class InferenceMode(Rule):
    code = "FSDP406"
    summary = "a sharded model that is trained as well is called under torch.inference_mode"
    severity = Severity.WARNING
    judged_by = "S"
    help = "use torch.no_grad() around the forward"

    def called(self, event: CalledInInference) -> Outcomes:
        units = event.model.units()
        if not units:
            return
        yield APPLIES
        trained = event.beginning.before_training()
        if event.model.trained() and trained:
            yield self.found(
                event.when,
                f"{event.model.label} is called in inference mode before it is trained: what it gathers into becomes "
                "inference tensors, which training must not touch",
                "this forward gathers parameters",
                (event.entered, "inference mode begins here"),
                (trained.what.when, "it is trained here, later"),
                (next(iter(units)), "the model is sharded here"),
                cause=event.entered,
            )
