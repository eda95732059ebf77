"""FSDP806: a loop of broadcasts goes through the same names, in the same order, on all ranks."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.events.broadcasts import BroadcastRepeated
from fsdp2_lint.vocab.rule import APPLIES, Outcome, Rule, Severity


class UnorderedBroadcastLoop(Rule):
    code = "FSDP806"
    name = "unordered-broadcast-loop"
    summary = "dist.broadcast() in a loop over names that differ by rank, or that come in another order on each"
    severity = Severity.ERROR
    witnesses = "S"
    help = "go through sorted(names) of a model that all ranks build alike, or broadcast the list of names first"

    def repeated(self, event: BroadcastRepeated) -> Iterator[Outcome]:
        yield APPLIES
        loop = event.names.differ()
        if loop:
            yield self.found(
                event.when,
                "the ranks do not broadcast the same tensors in the same order: "
                "they wait for each other, or receive another tensor's values",
                "one broadcast for each name that this rank has",
                (loop.what.when, loop.what.words),
            )
