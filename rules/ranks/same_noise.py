"""FSDP812: each data rank draws random numbers of its own."""

from __future__ import annotations

from fsdp2_lint.vocab.facts import Facts, groups_of_ranks, in_words
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class SameNoise(Rule):
    code = "FSDP812"
    summary = "all data ranks draw the same dropout masks or the same noise"
    severity = Severity.INFO
    judged_by = "R"
    compares = "noise"
    each_its_own = True
    help = "after the model is built, seed each data rank differently: torch.manual_seed(seed + rank)"

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        some = next(iter(facts.values()))
        if set(facts) < set(some.ranks) or len(groups_of_ranks(facts, "generator")) > 1:
            return
        yield self.found(
            some.when,
            f"{in_words(some.ranks)} draw the same random numbers from the forward of {some.traits['model']} to its "
            "backward: their samples get the same masks or the same noise",
            "the generators of all ranks stand at the same place when this forward begins",
        )
