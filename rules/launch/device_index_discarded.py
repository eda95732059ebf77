"""FSDP104: a device context manager does nothing as a bare statement."""

from __future__ import annotations

from fsdp2_lint.vocab.events.launch import DeviceIndexDiscarded
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class DeviceIndexDiscardedRule(Rule):
    code = "FSDP104"
    summary = "torch.accelerator.device_index(i) or torch.cuda.device(i) as a bare statement"
    severity = Severity.WARNING
    judged_by = "S"
    help = "call torch.accelerator.set_device_index(i) or torch.cuda.set_device(i)"

    def discarded(self, event: DeviceIndexDiscarded) -> Outcomes:
        yield APPLIES
        yield self.found(
            event.when,
            f"{event.name}(...) is a context manager: as a statement of its own it selects no device",
            "made and thrown away",
        )
