"""FSDP801: what needs every rank must be reached by every rank."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.vocab.events.process import CollectiveIssued
from fsdp2_lint.vocab.facts import Facts, in_words, parties
from fsdp2_lint.vocab.finding import Moment
from fsdp2_lint.vocab.rule import APPLIES, Outcome, Rule, Severity


class RankGuardedCollective(Rule):
    code = "FSDP801"
    name = "rank-guarded-collective"
    summary = "a collective is reached by some ranks only"
    severity = Severity.ERROR
    witnesses = "SRP"
    compares = "turn"
    help = "run it on all ranks, and guard only what follows from its result (such as writing a file)"

    def issued(self, event: CollectiveIssued) -> Iterator[Outcome]:
        if not event.collection.needs_model():
            return
        yield APPLIES
        excluded = event.collection.excluded_ranks()
        if not excluded or event.collection.matched():
            return
        asked, condition = excluded.what
        message = f"{event.collection.name} needs every rank, but only ranks with {condition} come here: the job hangs"
        label = "all ranks must take part in this"
        if isinstance(asked, Moment):
            yield self.found_order(
                (event.when, label), (asked, "the other ranks turn away here"), message, blame="early", cause=asked
            )
        else:
            yield self.found(event.when, message, label)

    def compare(self, facts: Facts) -> Iterator[Outcome]:
        yield APPLIES
        sides = parties(facts, "issued")
        inside = next((ranks for ranks in sides if "issued" in facts[ranks[0]].places), None)
        if len(sides) < 2 or inside is None or facts[inside[0]].traits["parted"] != "guard":
            return
        fact, other = facts[inside[0]], next(ranks for ranks in sides if ranks is not inside)
        words = facts[other[0]].traits["words"]
        yield self.found(
            fact.places["issued"],
            f"{fact.traits['by']} needs every rank, but only {in_words(inside)} came here: the job hangs",
            "all ranks must take part in this",
            (fact.when, f"{in_words(inside)}: {fact.traits['words']}"),
            (facts[other[0]].when, f"{in_words(other)}: {words or 'its last collective'}"),
        )
