"""What the ranks state, side by side. Ranks that state the same are treated as one, however many they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..vocab.facts import Fact

Voice = tuple[tuple[int, ...], Fact]
"""Ranks, and what all of them state."""


def voices_of(facts: Iterable[tuple[int, Fact]]) -> list[Voice]:
    """The same fact of several ranks is one object."""
    found: dict[int, tuple[dict[int, None], Fact]] = {}
    for rank, fact in facts:
        found.setdefault(id(fact), ({}, fact))[0][rank] = None
    return [(tuple(ranks), fact) for ranks, fact in found.values()]


def side_by_side(voices: Iterable[Voice]) -> Iterator[dict[int, Fact]]:
    """The facts to be compared with each other, by rank. What a rank said of one thing in several is put together."""
    by_key: dict[tuple[str, str], dict[tuple[int, ...], list[Fact]]] = {}
    for ranks, fact in voices:
        by_key.setdefault((fact.kind, fact.key), {}).setdefault(ranks, []).append(fact)
    for parts in by_key.values():
        yield from _groups(_whole(parts))


def _whole(parts: Mapping[tuple[int, ...], list[Fact]]) -> list[Voice]:
    """Voices of one key in which each rank is once: all parts of what it said are together."""
    by_rank: dict[int, list[tuple[int, ...]]] = {}
    if sum(map(len, parts)) == len({rank for ranks in parts for rank in ranks}):
        return [(ranks, _together(several)) for ranks, several in parts.items()]
    for ranks in parts:
        for rank in ranks:
            by_rank.setdefault(rank, []).append(ranks)
    classes: dict[tuple[int, ...], tuple[list[int], list[Fact]]] = {}
    for rank, several in by_rank.items():
        own = [fact for ranks in several for fact in parts[ranks]]
        classes.setdefault(tuple(map(id, own)), ([], own))[0].append(rank)
    return [(tuple(ranks), fact) for ranks, own in classes.values() for fact in _by_mesh(own)]


def _by_mesh(several: Sequence[Fact]) -> list[Fact]:
    """Experts have meshes of their own."""
    found: dict[tuple[int, ...], list[Fact]] = {}
    for fact in several:
        found.setdefault(fact.ranks, []).append(fact)
    return [_together(each) for each in found.values()]


def _together(several: Sequence[Fact]) -> Fact:
    if len(several) == 1:
        return several[0]
    values = {name: value for fact in several for name, value in fact.values.items()}
    places = {name: site for fact in several for name, site in fact.places.items()}
    return replace(several[0], values=values, places=places)


def _groups(voices: Sequence[Voice]) -> list[dict[int, Fact]]:
    """Ranks that ought to agree. Stages of a pipeline and shards of tensors have meshes of their own."""
    by_mesh: dict[tuple[int, ...], dict[int, Fact]] = {}
    for ranks, fact in voices:
        by_mesh.setdefault(fact.ranks, {}).update(dict.fromkeys(ranks, fact))
    if by_mesh.keys() == {()}:
        return []  # of no mesh: nobody ought to agree
    if _apart(by_mesh):
        return list(by_mesh.values())
    groups: list[dict[int, Fact]] = []
    for rank, fact in sorted(((rank, fact) for ranks, fact in voices for rank in ranks), key=lambda each: each[0]):
        _join(groups, rank, fact)
    return groups


def _apart(by_mesh: Mapping[tuple[int, ...], Mapping[int, Fact]]) -> bool:
    """Have the meshes no rank in common, and does each rank speak of its own?"""
    members = [rank for mesh in by_mesh for rank in mesh]
    return len(members) == len(set(members)) and all(said.keys() <= set(mesh) for mesh, said in by_mesh.items())


def _join(groups: list[dict[int, Fact]], rank: int, fact: Fact) -> None:
    """Put a fact to those of ranks that ought to agree with its own, by what either of them says.

    Meshes overlap here: of one thing a rank may have said several parts.
    """
    concerned = [
        said for said in groups if any(other in fact.ranks or rank in one.ranks for other, one in said.items())
    ]  # fmt: skip
    together: dict[int, Fact] = {}
    for said in concerned:
        groups.remove(said)
        together |= said
    if (known := together.get(rank)) is not None:
        values = {**known.values, **fact.values}
        fact = replace(known, values=values, places={**known.places, **fact.places})
    together[rank] = fact
    groups.append(together)
