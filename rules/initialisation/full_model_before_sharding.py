"""FSDP206: no GPU holds the whole model before it is sharded."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import ShardingBegun
from fsdp2_lint.vocab.finding import Severity
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule


class FullModelBeforeSharding(Rule):
    code = "FSDP206"
    summary = "the whole model is moved to the GPU before fully_shard"
    severity = Severity.WARNING
    judged_by = "SR"
    help = "shard the model on the CPU, or make it on the meta device and call to_empty after fully_shard"

    def begun(self, event: ShardingBegun) -> Outcomes:
        yield APPLIES
        moved = event.model.moved_whole()
        if not moved or event.model.known_small():
            return
        yield self.found(
            event.when,
            f"each GPU holds all of {moved.what.model} before fully_shard leaves it a part",
            "sharding begins here, with the whole model on the GPU",
            (moved.what.when, moved.what.words),
            cause=moved.what.when.at,
        )
