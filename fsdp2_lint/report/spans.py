"""The ranks of a group in few words: those of a device mesh lie at equal distances, however many there are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

MOST_RANKS = 1_000_000


def as_text(ranks: Sequence[int]) -> str:
    """``0-7`` for neighbours, ``0-28/4`` for every fourth, ``0, 1, 5`` for others."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        step = rank - runs[-1][1] if runs else 0
        if runs and runs[-1][2] in (0, step):
            runs[-1][1:] = rank, step
        else:
            runs.append([rank, rank, 0])
    return ", ".join(part for first, last, step in runs for part in _parts(first, last, step))


def _parts(first: int, last: int, step: int) -> tuple[str, ...]:
    if not step:
        return (str(first),)
    if last - first == step > 1:
        return str(first), str(last)
    return (f"{first}-{last}" if step == 1 else f"{first}-{last}/{step}",)


def from_text(value: object) -> tuple[int, ...]:
    """TypeError or ValueError if it is nothing of that kind, or names more ranks than there are."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not text")
    return _read(value)


@lru_cache(4096)  # all ranks of a group say the same
def _read(spans: str) -> tuple[int, ...]:
    found: list[int] = []
    for part in filter(None, spans.split(", ")):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        more = range(int(first), int(last or first) + 1, int(step or 1))
        if len(found) + len(more) > MOST_RANKS:
            raise ValueError("these are more ranks than there are")
        found.extend(more)
    return tuple(sorted(found))
