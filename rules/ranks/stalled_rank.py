"""FSDP803: no rank keeps the others waiting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fsdp2_lint.vocab.facts import Facts, groups_of_ranks, in_words
from fsdp2_lint.vocab.finding import Site
from fsdp2_lint.vocab.rule import APPLIES, Outcome, Rule, Severity


class StalledRank(Rule):
    code = "FSDP803"
    name = "stalled-rank"
    summary = "the other ranks wait in a collective for one that has not arrived"
    severity = Severity.ERROR
    witnesses = "R"
    compares = "stall"
    help = "let every rank do long work at the same time, or in the background, and no rank skip a collective"

    def compare(self, facts: Facts) -> Iterator[Outcome]:
        yield APPLIES
        by_state = {state: ranks for ranks, state in groups_of_ranks(facts, "state")}
        if "waits" not in by_state or "away" not in by_state:
            return
        waiting, away = by_state["waits"], by_state["away"]
        one, other = facts[away[0]], facts[waiting[0]]
        over = one.traits["over"] == "yes"
        message = (
            f"{in_words(away)} did not arrive while {in_words(waiting)} waited for more than "
            f"{one.traits['after']} seconds in {other.traits['by']}" + (": it came in the end" if over else "")
        )
        yield self.found(
            one.when,
            message,
            f"{in_words(away)} is here",
            *_callers(one.places.values(), f"{in_words(away)} came from here"),
            (other.when, f"{in_words(waiting)} waits here"),
            *_callers(other.places.values(), f"{in_words(waiting)} came from here"),
            severity=Severity.WARNING if over else None,
        )


def _callers(sites: Iterable[Site], words: str) -> list[tuple[Site, str]]:
    return [(site, words) for site in sites]
