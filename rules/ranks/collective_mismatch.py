"""FSDP802: at each position of a group's sequence, all ranks issue the same collective."""

from __future__ import annotations

from fsdp2_lint.vocab.facts import Fact, Facts, in_words, parties
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class CollectiveMismatch(Rule):
    code = "FSDP802"
    summary = "ranks issue different collectives where they should issue the same one"
    severity = Severity.ERROR
    judged_by = "RP"
    compares = "turn"
    help = "make every rank run the same modules and collectives in the same order"

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        sides = parties(facts, "issued")
        sides.sort(key=lambda ranks: not facts[ranks[0]].traits["words"])  # who has ended comes last
        if len(sides) < 2 or facts[sides[0][0]].traits["parted"]:
            return  # a guard, or a loop that some ranks have left, has a rule of its own
        mine, other = (facts[ranks[0]] for ranks in sides[:2])
        here, there = _does(mine, other), _does(other, mine)
        if there:
            said = f"{in_words(sides[0])} issued {here} while {in_words(sides[1])} issued {there}"
        else:
            said = f"{in_words(sides[0])} issued {here}, and {in_words(sides[1])} ended without it"
        yield self.found(
            mine.when,
            f"{said}: {_consequence(mine, other)}",
            f"{in_words(sides[0])}: {here}",
            (other.when, f"{in_words(sides[1])}: {there or 'its last collective'}"),
        )


def _does(fact: Fact, other: Fact) -> str:
    """What a rank issued, with the size where that makes the difference."""
    words, size = fact.traits["words"], fact.traits["size"]
    return f"{words} ({size})" if size and words == other.traits["words"] else words


def _consequence(mine: Fact, other: Fact) -> str:
    kinds = {fact.traits["words"].split(" ")[0] for fact in (mine, other)}
    if len(kinds) == 1 and mine.traits["size"] == other.traits["size"] != "":
        return "the sizes agree, so nothing fails, and each gets the data of the other"
    return "the job hangs or aborts"
