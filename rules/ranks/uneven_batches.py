"""FSDP804: all ranks run the same number of batches."""

from __future__ import annotations

from fsdp2_lint.vocab.facts import Facts, in_words, parties
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class UnevenBatches(Rule):
    code = "FSDP804"
    summary = "ranks run different numbers of batches"
    severity = Severity.ERROR
    judged_by = "R"
    compares = "turn"
    help = "give every rank the same number of batches: drop_last=True, a sampler that pads, or a fixed number of steps"

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        sides = parties(facts, "issued")
        going_on = next((ranks for ranks in sides if "issued" in facts[ranks[0]].places), None)
        if len(sides) < 2 or going_on is None or facts[going_on[0]].traits["parted"] != "batch":
            return
        done = next(ranks for ranks in sides if ranks is not going_on)
        words = facts[done[0]].traits["words"]
        yield self.found(
            facts[going_on[0]].places["issued"],
            f"{in_words(going_on)} runs another batch, and {in_words(done)} has left the loop: the job hangs",
            "this forward needs every rank",
            (facts[done[0]].when, f"{in_words(done)}: {words or 'its last collective'}"),
        )
