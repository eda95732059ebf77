"""By what the gradients of a group are divided."""

from __future__ import annotations

from dataclasses import dataclass

from . import places
from .groups import Group
from .meshes import ranks_of


@dataclass(frozen=True, slots=True)
class Division:
    """``factor``: the number that a group was given, None where it divides by that of its ranks."""

    factor: float | None
    ranks: int

    @property
    def by(self) -> float:
        return self.ranks if self.factor is None else self.factor

    def fits(self, other: Division) -> bool:
        """Do both divide by one number, or both average over their ranks, be they many or few?"""
        return self.by == other.by or self.by / self.ranks == other.by / other.ranks


def division(group: Group) -> Division:
    factor = places.FACTOR.read(group.raw)
    return Division(None if factor is None else float(factor), len(ranks_of(group.mesh)))
