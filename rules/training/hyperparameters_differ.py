"""FSDP617: all ranks update a parameter with the same numbers."""

from __future__ import annotations

from fsdp2_lint.vocab.events.training import HyperparametersSet
from fsdp2_lint.vocab.facts import Facts, groups_of_ranks, in_words
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class HyperparametersDiffer(Rule):
    code = "FSDP617"
    summary = "the learning rate, or another number of an optimizer, differs between ranks"
    severity = Severity.ERROR
    judged_by = "SR"
    compares = "hyperparameters"
    help = (
        "give all ranks the same number: reduce what decides it first, as in dist.all_reduce(loss, dist.ReduceOp.AVG)"
    )

    def given(self, event: HyperparametersSet) -> Outcomes:
        yield APPLIES
        if own := event.given.differ():
            yield self.found(
                event.when,
                f"{event.name} differs between ranks, so they update their shards of a parameter differently",
                "each rank has a number of its own here",
                (own.what.when, own.what.words),
            )

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        names = dict.fromkeys(name for fact in facts.values() for name in fact.values)
        for name in names:
            sides = [(ranks, value) for ranks, value in groups_of_ranks(facts, name) if value is not None]
            if len(sides) > 1:
                said = " and ".join(f"{value} on {in_words(ranks)}" for ranks, value in sides[:2])
                some = facts[sides[0][0][0]]
                yield self.found(
                    some.places[name],
                    f"{name} is {said}, so they update their shards of a parameter differently",
                    "this decides it",
                    (some.when, "this step is made with it"),
                )
                return
