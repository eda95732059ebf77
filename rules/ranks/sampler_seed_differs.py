"""FSDP811: all ranks shuffle the data in the same way, and each takes its part of it."""

from __future__ import annotations

from fsdp2_lint.vocab.events.ranks import SamplerMade
from fsdp2_lint.vocab.facts import Facts, groups_of_ranks, in_words
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class SamplerSeedDiffers(Rule):
    code = "FSDP811"
    summary = "ranks shuffle with different seeds: their parts of the data overlap"
    severity = Severity.ERROR
    judged_by = "SR"
    compares = "sampler"
    help = (
        "give DistributedSampler one seed on all ranks, and pass the same epoch to set_epoch; "
        "the sampler picks each rank's part"
    )

    def made(self, event: SamplerMade) -> Outcomes:
        yield APPLIES
        if own := event.sampler.seed_differs():
            yield self.found(
                event.when,
                f"each rank shuffles with {own.what.words}: their parts overlap, and some samples are never seen",
                "this sampler splits the data",
                (own.what.when, "each rank has its own here"),
            )

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        some = next(iter(facts.values()))
        sides = [(ranks, value) for ranks, value in groups_of_ranks(facts, "order") if value is not None]
        parts = {ranks: {facts[rank].traits["part"] for rank in ranks} for ranks, _ in sides}
        # Ranks that have one seed and all parts between them need no others: there may be several groups of these.
        if len(sides) < 2 or all(len(own) == int(some.traits["parts"]) for own in parts.values()):
            return
        said = " and ".join(f"{value} on {in_words(ranks)}" for ranks, value in sides[:2])
        yield self.found(
            some.when,
            f"the data is shuffled with {said}: the parts of the ranks overlap, and some samples are never seen",
            "this sampler splits the data",
        )
