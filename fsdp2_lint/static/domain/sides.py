"""A disjunction of paths in fewer of them: whatever holds on both sides of a branch holds without it."""

from __future__ import annotations

from .formulas import Formula
from .path_conditions import Literals, PathCondition

_sides: dict[tuple[Formula, bool], set[tuple[Literals, Literals]]] = {}


def forget_sides() -> None:
    """As guards and formulas, branches are known within one entry."""
    _sides.clear()


def two_sides(one: PathCondition, other: PathCondition) -> None:
    """Remember that a branch takes one of these two paths: whatever holds on both holds without it."""
    mine, theirs = frozenset(one.literals), frozenset(other.literals)
    for part in mine:
        _sides.setdefault(part, set()).add((mine, theirs))
    for part in theirs:
        _sides.setdefault(part, set()).add((theirs, mine))


def merged(guards: list[PathCondition]) -> list[PathCondition]:
    """The same disjunction in fewer paths: the two sides of a branch become one, what another covers goes."""
    found: list[PathCondition] = []
    for guard in guards:
        while (pair := next(((at, both) for at in found if (both := _united(at, guard))), None)) is not None:
            found.remove(pair[0])
            guard = pair[1]
        found.append(guard)
    return found


def _united(one: PathCondition, other: PathCondition) -> PathCondition | None:
    """The path that says what the two sides of one branch say together; None where they are of no such branch."""
    mine, theirs = one.literal_set, other.literal_set
    if mine <= theirs:
        return one
    if theirs <= mine:
        return other
    only_mine, only_theirs = mine - theirs, theirs - mine
    if len(only_mine) == len(only_theirs) == 1:
        (formula, truth), (against, opposite) = *only_mine, *only_theirs
        united = formula is against and truth is not opposite
    else:
        united = any(
            only_mine <= this <= mine and only_theirs <= that <= theirs
            for this, that in _sides.get(next(iter(only_mine)), ())
        )
    return one.without_literals(only_mine) if united else None
