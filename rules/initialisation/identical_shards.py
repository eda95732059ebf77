"""FSDP208: each shard of a parameter gets random numbers of its own."""

from __future__ import annotations

from fsdp2_lint.vocab.events.initialisation import ShardsDrawn
from fsdp2_lint.vocab.facts import Facts, groups_of_ranks, in_words
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity

_LABEL = "on the CPU each rank fills its shard from its own generator, and all ranks seed that alike"


class IdenticalShards(Rule):
    code = "FSDP208"
    summary = "all ranks draw the same random numbers on the CPU: every shard of a parameter is equal"
    severity = Severity.ERROR
    judged_by = "SR"
    compares = "drawn-shards"
    each_its_own = True
    help = "initialise the model before fully_shard, or on the GPU, or after a seed for each rank of the shard group"

    def drawn(self, event: ShardsDrawn) -> Outcomes:
        yield APPLIES
        if same := event.model.same_numbers():
            yield self.found(
                event.when,
                f"all ranks draw the same random numbers for their shards of {event.model.label}: "
                "every shard gets the same values",
                _LABEL,
                (same.what.when, same.what.words),
            )

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        some = next(iter(facts.values()))
        if set(facts) < set(some.ranks):
            return
        for name, place in some.places.items():
            if len(groups_of_ranks(facts, name)) == 1:
                yield self.found(
                    place,
                    f"{in_words(some.ranks)} drew the same random numbers for {name}: its shards are bitwise equal",
                    _LABEL,
                )
                return
