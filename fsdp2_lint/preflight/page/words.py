"""Words that all pages share: bytes, counts, and groups that are alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..plan import sizes
from ..plan.shape import MemoryProfile, Plan, PlannedGroup, PlannedParam

_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def in_bytes(count: int) -> str:
    """``1.96 GiB``; exact below one KiB."""
    for unit, size in _UNITS:
        if count >= size:
            return f"{count / size:,.2f} {unit}"
    return f"{count} B"


def unit_of(most: int) -> tuple[str, int]:
    """The unit of an axis that goes so far."""
    return next((each for each in _UNITS if most >= each[1]), ("B", 1))


def in_numbers(count: int) -> str:
    """``8.03 B``; exact below a million."""
    for unit, size in (("T", 10**12), ("B", 10**9), ("M", 10**6)):
        if count >= size:
            return f"{count / size:,.2f} {unit}"
    return f"{count:,}"


class Run(NamedTuple):
    """Groups in a row that differ in their names only, such as the blocks of a decoder."""

    groups: Sequence[PlannedGroup]

    @property
    def first(self) -> PlannedGroup:
        return self.groups[0]

    @property
    def name(self) -> str:
        return self.first.name if len(self.groups) == 1 else f"{self.first.name} to {self.groups[-1].name}"


def runs(plan: Plan) -> list[Run]:
    found: list[list[PlannedGroup]] = []
    for group in plan.groups:
        if found and _without_names(found[-1][0]) == _without_names(group):
            found[-1].append(group)
        else:
            found.append([group])
    return [Run(each) for each in found]


def _without_names(group: PlannedGroup) -> PlannedGroup:
    params = tuple(replace(each, fqn=each.fqn.removeprefix(f"{group.fqn}."), also=()) for each in group.params)
    return replace(group, fqn="", params=params)


def after_forward(group: PlannedGroup) -> str:
    """What becomes of its gathered parameters."""
    if group.reshards is True:
        return "freed"
    return f"cut over {group.reshards} ranks" if group.reshards else "kept"


def dtypes(group: PlannedGroup) -> str:
    """``float32, gathered in bfloat16, reduced in float32``."""
    own = _all(each.dtype for each in group.params)
    gathered = _all(each.gathered_dtype for each in group.params)
    reduced = group.reduce_dtype if any(each.trained for each in group.params) else gathered
    parts = [own]
    if gathered != own:
        parts.append(f"gathered in {gathered}")
    if reduced != gathered:
        parts.append(f"reduced in {reduced}")
    return ", ".join(parts)


def _all(names: Iterator[str]) -> str:
    return " and ".join(dict.fromkeys(names)) or "nothing"


def uneven(plan: Plan) -> list[str]:
    """What is not cut into equal parts, the largest first. Parameters of as many rows are cut alike."""
    alike: dict[tuple[int, int], list[PlannedParam]] = {}
    for group in plan.groups:
        for param in group.params:
            if sizes.is_uneven(param, group.shards):
                alike.setdefault((param.shape[param.dimension], group.shards), []).append(param)
    ordered = sorted(alike.items(), key=lambda each: -sum(param.bytes for param in each[1]))
    return [_cut(length, shards, params) for (length, shards), params in ordered]


def _cut(length: int, shards: int, params: Sequence[PlannedParam]) -> str:
    empty = sizes.without_any(params[0], shards)
    most, least = sizes.chunk(length, shards), sizes.rows(length, shards, shards - empty - 1)
    full = shards - empty - (least != most)
    parts = [f"{most:,} for {'most' if full > 1 else 'the first'}"]
    if least != most:
        parts.append(f"{least:,} for the last that has any")
    if empty:
        parts.append(f"none for {empty:,}")
    more = f" and {len(params) - 1:,} more" if len(params) > 1 else ""
    return f"{params[0].fqn}{more}: {length:,} rows over {shards:,} ranks: {', '.join(parts)}"


def peak_in_words(memory: MemoryProfile) -> str:
    peak = memory.peak
    where = f" of {peak.where}" if peak.where else ""
    return f"{in_bytes(peak.held.total)}, in {peak.phase}{where}, step {peak.step}"
