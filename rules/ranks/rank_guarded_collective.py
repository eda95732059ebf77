"""FSDP801: what needs every rank must be reached by every rank."""

from __future__ import annotations

from fsdp2_lint.vocab.answers import Answer
from fsdp2_lint.vocab.events.launch import CollectiveIssued
from fsdp2_lint.vocab.facts import Facts, in_words, parties
from fsdp2_lint.vocab.finding import Moment, Place
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class RankGuardedCollective(Rule):
    code = "FSDP801"
    summary = "a collective is reached by some ranks only"
    severity = Severity.ERROR
    judged_by = "SRP"
    compares = "turn"
    help = "run it on all ranks, and guard only what follows from its result (such as writing a file)"

    def issued(self, event: CollectiveIssued) -> Outcomes:
        if not event.collection.needs_model():
            return
        yield APPLIES
        own = event.collection.decided_by_each()
        excluded = event.collection.excluded_ranks()
        if not excluded:
            yield from self._decided(event.collection.name, event.when, own)
            return
        if event.collection.matched():
            return
        asked, ranks = excluded.what
        message = f"{event.collection.name} needs every rank, but is reached by {ranks} only: the job hangs"
        label = "all ranks must take part in this"
        if isinstance(asked, Moment):
            yield self.found_order(
                (event.when, label),
                (asked, "the other ranks branch off here"),
                message,
                blame="early",
                cause=asked,
                way="it is reached through this call",
            )
        else:
            yield self.found(event.when, message, label)

    def _decided(self, name: str, when: Moment, own: Answer[Place]) -> Outcomes:
        if own:
            asked, words = own.what.when, own.what.words
            yield self.found_order(
                (when, "all ranks must take part in this, or none"),
                (asked, f"each rank decides here by {words}"),
                f"{name} needs every rank, but each decides for itself whether to call it, by {words}: "
                "where they decide differently, the job hangs",
                blame="early",
                cause=asked,
            )

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        sides = parties(facts, "issued")
        inside = next((ranks for ranks in sides if "issued" in facts[ranks[0]].places), None)
        if len(sides) < 2 or inside is None or facts[inside[0]].traits["parted"] != "guard":
            return
        fact, other = facts[inside[0]], next(ranks for ranks in sides if ranks is not inside)
        words = facts[other[0]].traits["words"]
        yield self.found(
            fact.places["issued"],
            f"{fact.traits['by']} needs every rank, but was reached by {in_words(inside)} only: the job hangs",
            "all ranks must take part in this",
            (fact.when, f"{in_words(inside)}: {fact.traits['words']}"),
            (facts[other[0]].when, f"{in_words(other)}: {words or 'its last collective'}"),
        )
