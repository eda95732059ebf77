"""Is this module that one, a part of it, or something else? Only proof counts as proof."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from .values import ASIDE, BELOW, EACH, PICK, SLICE, SOME, AbstractObject, Obj, is_each

ONCE = "once"  # (ONCE, n): what one call returned that happened once
Address = tuple[AbstractObject, tuple[Any, ...]]

_NO_ANSWERS: Mapping[Obj, int | None] = {}


class Relation(Enum):
    SAME = "same"
    CONTAINS = "contains"  # the other is a part of it
    INSIDE = "inside"  # it is a part of the other
    MAY = "may"  # possibly the same or overlapping
    NONE = "none"


def address(
    obj: Obj, parents: Mapping[Obj, tuple[Obj, str]], answers: Mapping[Obj, int | None] = _NO_ANSWERS
) -> Address:
    """The outermost holder of ``obj`` and the path from there; ``answers`` numbers calls that happened once."""
    items: list[Any] = []
    seen: set[Obj] = set()
    at: Obj | None = obj
    root = obj
    while at is not None and at not in seen:
        seen.add(at)
        root = at
        if (adopted := parents.get(at)) is not None:
            items += [(PICK, None), adopted[1]] if _is_any(at) else [adopted[1]]
            at = adopted[0]
        else:
            if at.parent is not None:
                number = answers.get(at)
                items.append(at.item if number is None else (ONCE, number))
            at = at.parent
    return root.atom, _picked(tuple(reversed(items)))


def _is_any(obj: Obj) -> bool:
    """Is it reached by a computed name or index? Then it stands for several, of which only one was put in its place."""
    return any(item in (SOME, SLICE, (PICK, None)) for item in obj.path)


def _picked(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """``[*]`` followed by a pick is that element."""
    result: list[Any] = []
    for item in items:
        if isinstance(item, tuple) and item[0] == PICK and result and result[-1] == EACH:
            result[-1] = SOME if item[1] is None else f"[{item[1]}]"
        else:
            result.append(item)
    return tuple(result)


def relation(mine: Address, other: Address) -> Relation:
    """Are these the same, one inside the other, apart, or perhaps one of these?"""
    if mine[0] is not other[0]:
        return Relation.NONE
    left, right = mine[1], other[1]
    sure = True
    for position, (one, two) in enumerate(zip(left, right)):
        if one != two and (one in ASIDE or two in ASIDE):
            rest = right[position:] if one in ASIDE else left[position:]
            return Relation.NONE if any(map(_is_index, rest)) else Relation.MAY
        step = _compare(one, two)
        if step is None:
            return Relation.NONE
        sure = sure and step
    if len(left) == len(right):
        return Relation.SAME if sure and _certain(left) and not _below(left) else Relation.MAY
    shorter, longer = (left, right) if len(left) < len(right) else (right, left)
    if not sure or not _certain(shorter) or _below(shorter) or not _part(longer[len(shorter) :]):
        return Relation.MAY
    return Relation.CONTAINS if len(left) < len(right) else Relation.INSIDE


def covers(mine: Address, other: Address) -> bool:
    """Is ``mine`` each element of a collection, and ``other`` one of them?"""
    if mine[0] is not other[0] or len(mine[1]) != len(other[1]):
        return False
    pairs = list(zip(mine[1], other[1]))
    return all(  # two slices of a list, or two answers of one method, need not have anything in common
        one == two and _certain((one,)) or is_each(one) and _is_index(two) and not is_each(two) for one, two in pairs
    )


def _compare(one: Any, two: Any) -> bool | None:
    """True: surely the same step; False: possibly; None: another one."""
    if one == two:
        return True
    if _below((one, two)):
        return False
    if _is_index(one) and _is_index(two):
        if is_each(one) and is_each(two):
            return None  # two kinds of elements that one loop adds
        return False if is_each(one) or is_each(two) or SOME in (one, two) or SLICE in (one, two) else None
    if _is_pick(one) and _is_pick(two):
        return False if None in (one[1], two[1]) else None
    return None if isinstance(one, str) and isinstance(two, str) else False


def _part(steps: tuple[Any, ...]) -> bool:
    """Do these steps surely lead to a part of where they start, whichever element they mean?"""
    if _is_pick(steps[0]) or any(not isinstance(step, str) and not _is_pick(step) for step in steps):
        return False
    return any(isinstance(step, str) and not step.startswith(BELOW) for step in steps)


def _certain(items: tuple[Any, ...]) -> bool:
    """No step of the path is "some element", "some descendant" or the result of a call."""
    return all(
        item not in (SOME, SLICE) and (isinstance(item, str) or item[0] in (PICK, ONCE) and item[1] is not None)
        for item in items
    )


def _below(items: tuple[Any, ...]) -> bool:
    return any(isinstance(item, str) and item.startswith(BELOW) for item in items)


def _is_index(item: Any) -> bool:
    return isinstance(item, str) and item.startswith("[")


def _is_pick(item: Any) -> bool:
    return isinstance(item, tuple) and item[0] == PICK
