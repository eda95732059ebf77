"""FSDP319: each rank holds its share of the model."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import TrainingSeen
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity

SLACK = 1.25  # padding and small tensors account for some of what is above the share
EXCESS = 32 * 2**20  # bytes; less is not worth a warning
LARGE = 40 * 2**20  # bytes: 10 million parameters of 4 bytes
HALF = 0.5
MOST = 8  # groups that are listed


class MemoryNotSharded(Rule):
    code = "FSDP319"
    summary = "a rank holds far more than its share of the model, or one group most of it"
    severity = Severity.WARNING
    judged_by = "RP"
    help = "shard what every rank holds in full, and shard large modules on their own"

    def seen(self, event: TrainingSeen) -> Outcomes:
        memory = event.model.memory()
        if not memory:
            return
        yield APPLIES
        what = memory.what
        share = what.share
        groups = "; ".join(what.groups[:MOST])
        if what.held > SLACK * share and what.held - share > EXCESS:
            yield self.found(
                what.at,
                f"this rank holds {_mib(what.held)} of {event.model.label}, {what.held / share:.1f} times its share of "
                f"{_mib(share)}: something of {_mib(what.whole)} is not sharded",
                f"the groups hold: {groups}",
            )
        elif what.gathered_bytes > LARGE and what.largest_bytes > HALF * what.gathered_bytes and len(what.groups) > 1:
            yield self.found(
                what.at,
                f"the group {what.largest} takes {_mib(what.largest_bytes)} when it is gathered, "
                f"most of the {_mib(what.gathered_bytes)} of {event.model.label}",
                f"the groups hold: {groups}",
            )


def _mib(count: float) -> str:
    return f"{count / 2**20:.1f} MiB"
