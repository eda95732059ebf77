"""FSDP803: no rank keeps the others waiting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fsdp2_lint.vocab.facts import Facts, groups_of_ranks, in_words
from fsdp2_lint.vocab.finding import Site
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class StalledRank(Rule):
    code = "FSDP803"
    summary = "the other ranks wait in a collective for one that has not arrived"
    severity = Severity.ERROR
    judged_by = "R"
    compares = "stall"
    help = "let every rank do long work at the same time, or in the background, and no rank skip a collective"

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        by_state = {state: ranks for ranks, state in groups_of_ranks(facts, "state")}
        if "waits" not in by_state or "away" not in by_state:
            return
        waiting, away = by_state["waits"], by_state["away"]
        one, other = facts[away[0]], facts[waiting[0]]
        yield self.found(
            one.when,
            _message(in_words(away), in_words(waiting), one.traits, other.traits),
            f"{in_words(away)} is here" if not one.traits["how"] else f"{in_words(away)} was last seen here",
            *_callers(one.places.values(), f"{in_words(away)} came from here"),
            (other.when, f"{in_words(waiting)} waits here"),
            *_callers(other.places.values(), f"{in_words(waiting)} came from here"),
        )


STATES = {
    "stopped": "was stopped by a signal",
    "gone": "is gone",
    "held": "runs no Python any more",
    "ended": "has ended its script",
}


def _message(away: str, waiting: str, late: Mapping[str, str], kept: Mapping[str, str]) -> str:
    """What was seen: a collective in which the others wait, or how many each of them has issued."""
    cut_off = f"{away} {STATES[late['how']]} and" if late["how"] else away
    if kept["inside"] == "yes":
        return f"{cut_off} did not arrive while {waiting} waited for more than {kept['after']} seconds in {kept['by']}"
    if late["how"] in ("stopped", "gone", "held"):  # it may have issued more than it could say
        return f"{away} {STATES[late['how']]}, and {waiting} went no further for more than {kept['after']} seconds"
    return f"{cut_off} issued fewer collectives than {waiting}, and nobody went further for {kept['after']} seconds"


def _callers(sites: Iterable[Site], words: str) -> list[tuple[Site, str]]:
    return [(site, words) for site in sites]
