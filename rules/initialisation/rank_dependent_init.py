"""FSDP203: all ranks start from the same weights."""

from __future__ import annotations

from fsdp2_lint.vocab.events.initialisation import InitialWeightsSeen
from fsdp2_lint.vocab.facts import Facts, groups_of_ranks, in_words
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class RankDependentInit(Rule):
    code = "FSDP203"
    summary = "ranks start from different weights, and nothing broadcasts them"
    severity = Severity.ERROR
    judged_by = "SR"
    compares = "starting-weights"
    help = "set one seed on all ranks before the model is built, or load the weights on all ranks after sharding"

    def seen(self, event: InitialWeightsSeen) -> Outcomes:
        yield APPLIES
        model = event.model
        label = "the parameters are sharded as each rank has them"
        loaded = model.loaded_by_some()
        if loaded:
            yield self.found(
                event.when,
                f"only some ranks load {model.label}, and fully_shard does not broadcast: the shards of all make it up",
                label,
                (loaded.what.when, loaded.what.words),
            )
            return
        seeded = model.seeded_by_rank()
        if seeded:
            replicas = model.replicated().surely
            yield self.found(
                event.when,
                f"the ranks build {model.label} with different random weights, and fully_shard does not broadcast",
                label,
                (seeded.what.when, seeded.what.words),
                severity=None if replicas else Severity.WARNING,
                cause=seeded.what.when,
            )

    def compare(self, facts: Facts) -> Outcomes:
        """HSDP replicas that differ never meet again. On a 1-D mesh the shards of several models make up one."""
        yield APPLIES
        for name in dict.fromkeys(name for fact in facts.values() for name in fact.values):
            own = {rank: fact for rank, fact in facts.items() if _mesh_of(name) in map(_mesh_of, fact.values)}
            parts = groups_of_ranks(own, name)
            if len(parts) == 1 or any(value is None for _, value in parts):
                continue
            some = own[parts[0][0][0]]
            replicas = some.traits["mesh"] == "replicas"
            loaded = {fact.traits["loaded"] for fact in own.values()}
            who = " and ".join(in_words(ranks) for ranks, _ in parts[:2])
            if replicas:
                consequence = "fully_shard does not broadcast, so the replicas stay different"
            elif len(loaded) > 1:
                consequence = "only some of them loaded it, and the shards of both make up the model"
            else:
                consequence = "the model is put together from shards of different initialisations"
            yield self.found(
                some.places[name],
                f"{who} start from different values of {name}: {consequence}",
                "the parameters are sharded as each rank has them",
                severity=None if replicas or len(loaded) > 1 else Severity.WARNING,
            )
            return


def _mesh_of(name: str) -> str:
    """The ranks that share a parameter, where those are others than of most: ``weight over ranks 0, 2``."""
    return name.partition(" over ")[2]
