"""FSDP806: a loop of collectives goes through the same elements, in the same order, on all ranks."""

from __future__ import annotations

from fsdp2_lint.vocab.events.ranks import CollectiveRepeated
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class UnorderedCollectiveLoop(Rule):
    code = "FSDP806"
    summary = "a collective in a loop over what differs by rank, or over a set, which has another order on each"
    severity = Severity.ERROR
    judged_by = "S"
    help = "go through parameters() or sorted(names) of a model that all ranks build alike; a set has no order"

    def repeated(self, event: CollectiveRepeated) -> Outcomes:
        yield APPLIES
        if loop := event.rounds.differ():
            yield self.found(
                event.when,
                f"the ranks do not come to {event.rounds.name} for the same tensors in the same order: "
                "they wait for each other, or get another tensor's values",
                "each round of a rank meets that of the others which is as far",
                (loop.what.when, loop.what.words),
            )
