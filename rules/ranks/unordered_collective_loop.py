"""FSDP806: a loop of collectives goes through the same elements, in the same order, on all ranks."""

from __future__ import annotations

from fsdp2_lint.vocab.events.ranks import CollectiveRepeated
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class UnorderedCollectiveLoop(Rule):
    code = "FSDP806"
    summary = "a collective in a loop over what differs by rank, or over a set, whose order differs between ranks"
    severity = Severity.ERROR
    judged_by = "S"
    help = "loop over parameters() or sorted(names) of a model that all ranks build alike; a set has no fixed order"

    def repeated(self, event: CollectiveRepeated) -> Outcomes:
        yield APPLIES
        if loop := event.rounds.differ():
            yield self.found(
                event.when,
                f"ranks call {event.rounds.name} for different tensors, or in different orders: "
                "they deadlock, or get another tensor's values",
                "iteration n on one rank pairs with iteration n on the others",
                (loop.what.when, loop.what.words),
            )
