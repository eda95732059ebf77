"""FSDP103: the GPU is selected before CUDA is used."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.events.launch import DeviceSelected
from fsdp2_lint.vocab.rule import APPLIES, Outcome, Rule, Severity


class DeviceSetTooLate(Rule):
    code = "FSDP103"
    name = "device-set-too-late"
    summary = "CUDA is used before the device is set"
    severity = Severity.ERROR
    witnesses = "SR"
    help = "select the device first, right after (or before) init_process_group"

    def selected(self, event: DeviceSelected) -> Iterator[Outcome]:
        yield APPLIES
        touched = event.device.touched_before()
        if touched:
            moment, how = touched.what
            yield self.found_order(
                (moment, f"{how}: this lands on the device that is current by default"),
                (event.when, "the device is selected only here"),
                "CUDA is used before the device is selected: every rank starts on cuda:0",
                blame="early",
            )
