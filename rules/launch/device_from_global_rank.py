"""FSDP102: the device index is the rank on this node, not in the whole job."""

from __future__ import annotations

from fsdp2_lint.vocab.events.launch import DeviceSelected
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class DeviceFromGlobalRank(Rule):
    code = "FSDP102"
    summary = "the device index is the global rank"
    severity = Severity.ERROR
    judged_by = "SR"
    help = "use LOCAL_RANK, or the global rank modulo torch.cuda.device_count()"

    def selected(self, event: DeviceSelected) -> Outcomes:
        yield APPLIES
        if from_rank := event.device.from_global_rank():
            yield self.found(
                event.when,
                "the device index is the global rank: on the second node there is no such GPU",
                "this index counts the ranks of all nodes",
                cause=from_rank.what,
            )
