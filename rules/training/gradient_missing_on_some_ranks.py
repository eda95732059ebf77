"""FSDP613: a parameter has a gradient on all ranks or on none."""

from __future__ import annotations

from fsdp2_lint.vocab.facts import Facts, groups_of_ranks, in_words
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class GradientMissingOnSomeRanks(Rule):
    code = "FSDP613"
    summary = "a parameter has a gradient on some ranks only"
    severity = Severity.ERROR
    judged_by = "R"
    compares = "group-gradients"
    help = "use every parameter on every rank, or call set_reduce_scatter_unused_params(True)"

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        some = next(iter(facts.values()))
        for name in dict.fromkeys(name for fact in facts.values() for name in fact.values):
            parts = {value: ranks for ranks, value in groups_of_ranks(facts, name)}
            if "yes" in parts and "no" in parts:
                yield self.found(
                    some.when,
                    f"{name} has a gradient on {in_words(parts['yes'])} and none on {in_words(parts['no'])}: "
                    "the ranks reduce different things",
                    "this backward does not reach it on every rank",
                    *((site, "its group is made here") for site in some.places.values()),
                )
                return
