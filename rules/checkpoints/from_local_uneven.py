"""FSDP708: shards of different sizes are put together with the shape of the whole."""

from __future__ import annotations

from fsdp2_lint.vocab.facts import Facts
from fsdp2_lint.vocab.rule import APPLIES, Outcomes, Rule, Severity


class FromLocalUneven(Rule):
    code = "FSDP708"
    summary = "DTensor.from_local without shape and stride, on shards of different sizes"
    severity = Severity.ERROR
    judged_by = "RP"
    compares = "local-shard"
    each_its_own = True
    help = "pass shape=parameter.shape and stride=parameter.stride() to DTensor.from_local"

    def compare(self, facts: Facts) -> Outcomes:
        yield APPLIES
        some = next(iter(facts.values()))
        if set(facts) < set(some.ranks) or not all(
            {"rows", "other dimensions"} <= set(fact.values) for fact in facts.values()
        ):
            return
        others = {fact.values["other dimensions"] for fact in facts.values()}
        rows = [int(facts[rank].values["rows"]) for rank in some.ranks]
        if len(others) > 1 or len(set(rows)) == 1 or not _chunks(rows):
            return
        sizes = ", ".join(f"{size} on rank {rank}" for rank, size in zip(some.ranks, rows))
        yield self.found(
            some.when,
            f"from_local takes every shard for as large as its own, and they differ along dimension "
            f"{some.traits['dimension']}: {sizes}; each rank has another shape for the whole",
            "the shape of the whole is a guess here",
        )


def _chunks(rows: list[int]) -> bool:
    """Is it one tensor, cut the way that FSDP2 cuts it? Else the ranks wrap different tensors at this place."""
    full = rows[0]
    cut = next((at for at, size in enumerate(rows) if size != full), len(rows))
    return rows[cut] < full and not any(rows[cut + 1 :])
