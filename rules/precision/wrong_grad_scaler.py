"""FSDP504: a loss is scaled for fp16, by torch's own scaler."""

from __future__ import annotations

from fsdp2_lint.vocab.events.precision import ScalerStepped
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class WrongGradScaler(Rule):
    code = "FSDP504"
    summary = "ShardedGradScaler with FSDP2, or a GradScaler with bf16"
    severity = Severity.WARNING
    judged_by = "S"
    help = "use torch.amp.GradScaler for fp16, and no scaler for bf16"

    def stepped(self, event: ScalerStepped) -> Outcomes:
        yield APPLIES
        foreign, useless = event.scaler.of_fsdp1(), event.scaler.for_bfloat16()
        if foreign:
            yield self.found(
                event.scaler_made,
                "ShardedGradScaler belongs to FSDP1: FSDP2 needs torch.amp.GradScaler",
                "the scaler is made here",
                (foreign.what.when, foreign.what.words),
                (event.when, "it makes this step"),
            )
        elif useless:
            yield self.found(
                event.scaler_made,
                "bf16 has the range of float32: scaling the loss gains nothing, and hides the true size of gradients",
                "the scaler is made here",
                (useless.what.when, useless.what.words),
                (event.when, "it makes this step"),
            )
