"""FSDP313: each rank holds a part of each parameter that matters."""

from __future__ import annotations

from fsdp2_lint.vocab.events.sharding import GroupSettled
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class EmptyShards(Rule):
    code = "FSDP313"
    summary = "a parameter has too few rows: some ranks hold nothing of it"
    severity = Severity.WARNING
    judged_by = "RP"
    help = "shard it along another dimension with shard_placement_fn, or over fewer ranks with a 2-D mesh"

    def settled(self, event: GroupSettled) -> Outcomes:
        group = event.group
        yield APPLIES
        empty = group.empty_shards()
        if empty:
            yield self.found(
                empty.what.when,
                f"{empty.what.words}: the others hold more than their share",
                "its first dimension is cut into equal chunks, rounded up, until the rows run out",
            )
