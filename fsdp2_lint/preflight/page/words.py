"""Words that all pages share: bytes, counts, and groups that are alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..plan import sizes
from ..plan.shape import Limit, MemoryProfile, Plan, PlannedGroup, PlannedParam, Rehearsal

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


_OF_MEMORY = (
    "bytes are those of tensors: NCCL's buffers (often 1 to 2 GB), the CUDA context and fragmentation come on top",
    "kept for backward is what kernels of the CPU keep: those of a GPU, as of attention, may keep other tensors",
    "an optimizer that takes all parameters at once, GPUs' default, needs as much again as a rank's parameters",
)


def limits(rehearsal: Rehearsal) -> list[Limit]:
    """What was met on the way, and what is so of each memory that is counted here."""
    watched = any(size.watched is not None for size in rehearsal.sizes)
    return [*rehearsal.limits, *(map(Limit, _OF_MEMORY) if watched else ())]


class Run(NamedTuple):
    """Groups that differ in their names only, such as the blocks of a decoder."""

    groups: Sequence[PlannedGroup]

    @property
    def first(self) -> PlannedGroup:
        return self.groups[0]

    @property
    def name(self) -> str:
        return self.first.name if len(self.groups) == 1 else f"{self.first.name} to {self.groups[-1].name}"


def runs(plan: Plan) -> list[Run]:
    """Not only of neighbours: a block and its experts take turns."""
    found: dict[PlannedGroup, list[PlannedGroup]] = {}
    for group in plan.groups:
        found.setdefault(_without_names(group), []).append(group)
    return [Run(each) for each in found.values()]


def _without_names(group: PlannedGroup) -> PlannedGroup:
    params = tuple(replace(each, fqn=each.fqn.removeprefix(f"{group.fqn}."), also=()) for each in group.params)
    return replace(group, fqn="", params=params)


def after_forward(group: PlannedGroup) -> str:
    """What becomes of its gathered parameters."""
    if group.reshards is True:
        return "freed"
    return f"cut over {group.reshards} ranks" if group.reshards else "kept"


def dtypes(group: PlannedGroup) -> str:
    """``float32 (bfloat16, float32)``: its own, that in which it is gathered, and that of the reduction."""
    own = _all(each.dtype for each in group.params)
    gathered = _all(each.gathered_dtype for each in group.params)
    reduced = group.reduce_dtype if any(each.trained for each in group.params) else gathered
    return own if own == gathered == reduced else f"{own} ({gathered}, {reduced})"


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


_IN = {
    "before": "before a forward",
    "forward": "in forward",
    "backward": "in backward",
    "optimizer": "in the optimizer's step",
}


def peak_in_words(memory: MemoryProfile) -> str:
    peak = memory.peak
    outside = " outside the sharded modules" if peak.phase in ("forward", "backward") else ""  # as in the loss
    where = f" of {peak.where}" if peak.where else outside
    return f"{in_bytes(peak.held.total)}, {_IN[peak.phase]}{where}, step {peak.step}"
