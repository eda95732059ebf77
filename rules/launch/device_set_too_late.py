"""FSDP103: the GPU is selected before CUDA is used."""

from __future__ import annotations

from fsdp2_lint.vocab.events.launch import DeviceSelected
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class DeviceSetTooLate(Rule):
    code = "FSDP103"
    summary = "CUDA is used before the device is set"
    severity = Severity.ERROR
    judged_by = "SR"
    help = "select the device first, right after (or before) init_process_group"

    def selected(self, event: DeviceSelected) -> Outcomes:
        yield APPLIES
        if touched := event.device.touched_before():
            moment, how = touched.what
            yield self.found_order(
                (moment, f"{how}: this lands on the device that is current by default"),
                (event.when, "the device is selected only here"),
                "CUDA is used before the device is selected: every rank starts on cuda:0",
                blame="early",
            )
