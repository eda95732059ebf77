"""FSDP712: what each rank has for itself has a key of its own in a checkpoint."""

from __future__ import annotations

from fsdp2_lint.vocab.events.checkpoints import SharedKeysWritten
from fsdp2_lint.vocab.facts import Facts, in_words, parties
from fsdp2_lint.vocab.finding import listed
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class RankLocalStateSharedKey(Rule):
    code = "FSDP712"
    summary = "dcp.save gets what differs between ranks under one key, and keeps one rank's value"
    severity = Severity.ERROR
    judged_by = "SR"
    compares = "saved-values"
    help = 'put the rank into the key, as in {f"rng_{dist.get_rank()}": torch.get_rng_state()}, or gather a list first'

    def written(self, event: SharedKeysWritten) -> Outcomes:
        yield APPLIES
        if own := event.keys.of_each_rank():
            yield self.found(
                event.when,
                f"{event.by} gets {own.what.words} on every rank and keeps that of one: after a load all ranks have it",
                "one rank's value is written here",
                (own.what.when, "each rank has its own"),
            )

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        names = dict.fromkeys(name for fact in facts.values() for name in fact.values)
        differing = {name: sides for name in names if len(sides := parties(facts, name)) > 1}
        if differing:
            name, sides = next(iter(differing.items()))
            ranks = f"{in_words(sides[0])} and {in_words(sides[1])}"
            yield self.found(
                facts[sides[0][0]].when,
                f"{listed([repr(each) for each in differing])} differs between {ranks}, and a checkpoint keeps the "
                "value of one rank for each key: after a load all ranks have it",
                "one rank's value is written here",
            )
