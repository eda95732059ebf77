"""FSDP605: FSDP2 has no ``no_sync()``."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import NoSyncAsked
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class NoSync(Rule):
    code = "FSDP605"
    summary = "FSDP1's no_sync() on an FSDP2 model"
    severity = Severity.ERROR
    judged_by = "SRP"
    help = "call model.set_requires_gradient_sync(is_last_microbatch) before each backward"

    def asked(self, event: NoSyncAsked) -> Outcomes:
        yield APPLIES
        lacking = event.model.lacks_it()
        if not lacking:
            return
        label = event.model.label
        if event.model.goes_on():
            yield self.found(
                event.when,
                f"{label} has no no_sync() under FSDP2, and nothing takes its place: each backward reduces gradients",
                "the answer is always no here",
                (lacking.what.when, lacking.what.words),
                severity=Severity.WARNING,
            )
        else:
            yield self.found(
                event.when,
                f"{label} has no no_sync() under FSDP2: this raises an AttributeError",
                "a method of FSDP1 and DDP",
                (lacking.what.when, lacking.what.words),
            )
