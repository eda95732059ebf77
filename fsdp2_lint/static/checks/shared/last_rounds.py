"""What a condition on the number of a round comes to in the last round of its loop.

``i == len(batches) - 1`` holds there, if ``i`` counts ``batches``; so does ``(i + 1) % n == 0`` where it counts to
``n``. Numbers are compared as one unknown and a constant: ``n - 1`` and ``len(batches) + 1``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable

from astroid import nodes

from ...domain.choices import options
from ...domain.formulas import Formula
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.values import SOME, Const, GuardedUnion, Obj, Value, is_each
from ...interpreter.expressions.numbers import Last, is_multiple
from .conditions import objects_in

Number = tuple[Obj | None, int]  # an unknown, or none, and what is added to it
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def at_last(formula: Formula, here: PathCondition, outside: Collection[nodes.NodeNG]) -> bool | None:
    """Does it hold in the last round, in runs that come ``here``? None: that is not known.

    Where a setting says how many rounds there are, for each of its values that the source writes. The loops ``outside``
    go on with other rounds.
    """
    counted = (each.atom.state(Last) for each in objects_in(formula))
    whole = {last.of for last in counted if last is not None and last.loop not in outside}
    paths = [path for of in whole for path, _ in options(of) if path.compatible(here)] if len(whole) == 1 else [TRUE]
    found = {_LastRound(path, outside).holds(formula) for path in paths}
    return found.pop() if len(found) == 1 else None


class _LastRound:
    """On a path: which of the numbers of rounds holds, and what else is asked, that may say."""

    def __init__(self, path: PathCondition, outside: Collection[nodes.NodeNG]) -> None:
        self._path, self._outside = path, outside

    def holds(self, formula: Formula) -> bool | None:
        if isinstance(formula, bool):
            return formula
        if self._path.add(formula) is None or self._path.add(formula, False) is None:
            return self._path.add(formula) is not None
        kind = formula[0]
        if kind == "not":
            found = self.holds(formula[1])
            return None if found is None else not found
        if kind in ("and", "or"):
            return _together(map(self.holds, formula[1]), of=kind == "or")
        if kind == "is":
            return self._equal(formula[1], Const(formula[2]))
        if kind == "compared":
            return self._compare(formula[2], formula[1], Const(formula[3]))
        asked = formula[1] if kind == "truth" else None
        if isinstance(asked, tuple) and asked[0] == "equal":
            return self._equal(asked[1], asked[2])
        return self._compare(*asked[1:]) if isinstance(asked, tuple) and asked[0] == "compare" else None

    def _equal(self, left: Value, right: Value) -> bool | None:
        for asked, other in ((left, right), (right, left)):
            if isinstance(asked, Obj) and asked.parent is None and asked.atom.operator == "%" and other == Const(0):
                mine, its = map(self._number, asked.atom.operands)
                return True if mine is not None and mine == its else None
        mine, its = self._number(left), self._number(right)
        return mine[1] == its[1] if mine is not None and its is not None and mine[0] is its[0] else None

    def _compare(self, how: str, left: Value, right: Value) -> bool | None:
        mine, its = self._number(left), self._number(right)
        if how not in _COMPARE or mine is None or its is None or mine[0] is not its[0]:
            return None
        return _COMPARE[how](mine[1], its[1])

    def _number(self, value: Value) -> Number | None:
        return number(value, self._path, self._outside)


def never(formula: Formula, truth: bool) -> bool:
    """Is it asked whether the number of a round is one that comes after that of the last round?"""
    asked = formula[1] if isinstance(formula, tuple) and formula[0] == "truth" else None
    if not truth or not isinstance(asked, tuple) or asked[0] != "equal":
        return False
    for counter, other in ((asked[1], asked[2]), (asked[2], asked[1])):
        mine, its = number(counter), number(other)
        if _counts(counter) and mine is not None and its is not None and mine[0] is its[0] and its[1] > mine[1]:
            return True
    return False


def number(value: Value, path: PathCondition = TRUE, outside: Collection[nodes.NodeNG] = ()) -> Number | None:
    """Of a counter, what it is in the last round of a run on ``path``; not of loops ``outside``."""
    if isinstance(value, GuardedUnion):
        here = [leaf for way, leaf in options(value) if way.compatible(path)]
        return number(here[0], path, outside) if len(here) == 1 else None
    if isinstance(value, Const):
        return (None, value.value) if type(value.value) is int else None
    if not isinstance(value, Obj):
        return None
    at, added = _without_constants(value)
    last = at.atom.state(Last)
    if last is None or last.loop in outside or not _counts(at):
        return at, added
    whole = number(last.of, path, outside)
    return (whole[0], whole[1] + last.more + added) if whole is not None else None


def _without_constants(value: Obj) -> tuple[Obj, int]:
    at, added = value, 0
    while at.parent is not None and is_multiple(at.item) and at.item[1] in ("+", "-"):
        by = at.item[2]
        if not isinstance(by, Const) or type(by.value) is not int:
            break
        added += by.value if at.item[1] == "+" else -by.value
        at = at.parent
    return at, added


def _counts(value: Value) -> bool:
    if not isinstance(value, Obj):
        return False
    at, _ = _without_constants(value)
    return at.atom.state(Last) is not None and at.parent is at.atom.root and (is_each(at.item) or at.item == SOME)


def _together(parts: Iterable[bool | None], *, of: bool) -> bool | None:
    """``or`` where ``of`` is True, else ``and``."""
    found = list(parts)
    return of if of in found else None if None in found else not of
