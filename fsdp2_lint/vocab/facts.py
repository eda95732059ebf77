"""What one rank did, in a form that ranks can compare with each other.

Some rules are about agreement: no rank alone can break them. Each rank states facts; whoever
has the facts of several ranks puts those of one kind and one key before the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from .declared import record
from .finding import Moment, Site


@record
class Fact:
    """One statement of one rank.

    ``kind`` names what it is about, ``key`` what it is compared under: only facts of one kind and
    key are put side by side. ``ranks`` are those that ought to agree. ``values`` is what must
    agree, name by name, and ``places`` says for some names where in the source they come from.
    ``traits`` are further words that a rule needs, which may differ.
    """

    kind: str
    key: str
    when: Moment
    ranks: tuple[int, ...]
    values: Mapping[str, str]
    places: Mapping[str, Site] = field(default_factory=dict)
    traits: Mapping[str, str] = field(default_factory=dict)
    step: int | None = None


AT_FIRST = " at the first forward"  # behind a name: its value before training

Facts = Mapping[int, Fact]
"""The facts of one kind and key, by rank. A rank that is missing has not said anything: no absence follows."""


def groups_of_ranks(facts: Facts, name: str) -> list[tuple[tuple[int, ...], str | None]]:
    """Which ranks say the same of ``name``: (ranks, value), the largest group first."""
    by_value: dict[str | None, list[int]] = {}
    for rank in sorted(facts):
        by_value.setdefault(facts[rank].values.get(name), []).append(rank)
    return sorted(((tuple(ranks), value) for value, ranks in by_value.items()), key=lambda each: -len(each[0]))


def parties(facts: Facts, name: str) -> list[tuple[int, ...]]:
    """The ranks that say the same of ``name``, the largest group first; nobody who says nothing of it."""
    return [ranks for ranks, value in groups_of_ranks(facts, name) if value is not None]


def in_words(ranks: tuple[int, ...]) -> str:
    """``rank 3``, ``ranks 0-6, 8``."""
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {ranges(ranks)}"


def ranges(ranks: tuple[int, ...]) -> str:
    """``0-6, 8``."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
