"""One value out of several: joined where branches meet, and kept few."""

from __future__ import annotations

import itertools
from typing import Any, TypeVar

from ..budget import BUDGET
from .formulas import LARGE, either
from .path_conditions import TRUE, PathCondition
from .sides import merged
from .values import NONE, PICK, Cond, Const, Func, GuardedUnion, Obj, Rank, Sometimes, Text, Value, unknown

T = TypeVar("T")


def options(value: Value) -> tuple[tuple[PathCondition, Value], ...]:
    return value.options if isinstance(value, GuardedUnion) else ((TRUE, value),)


def choose(alternatives: list[tuple[PathCondition, Value]]) -> Value:
    """One value out of guarded alternatives; equal ones are merged where that loses nothing."""
    flat: list[tuple[PathCondition, Value]] = []
    for guard, value in alternatives:
        for inner, leaf in options(value):
            if (joined := guard.join(inner)) is not None:
                flat.append((joined, leaf))
    first = flat[0][1] if flat else NONE
    if all(leaf == first for _, leaf in flat):
        return first
    flat = _by_value(flat)
    if len(flat) > BUDGET.options:
        some = unknown("one of many values", kind="opaque").child((PICK, None))
        if not all(isinstance(leaf, Obj) and leaf.atom.kind != "configuration" for _, leaf in flat):
            return some
        others = either([guard.formula for guard, _ in flat[BUDGET.options_kept :]])
        flat = [
            *flat[: BUDGET.options_kept],
            (TRUE.add(others) or TRUE, some),
        ]  # something may still be proved of the first
    return GuardedUnion(tuple(flat)) if len(flat) > 1 or flat[0][0] is not TRUE else flat[0][1]


def keyword(found: list[tuple[PathCondition, Value]], here: PathCondition) -> Value:
    """The value of a keyword that was given with these; on other paths than these it was not given."""
    if len(found) == 1 and found[0][0] is TRUE:
        return found[0][1]
    left = here.add(either([path.formula for path, _ in found]), False)
    return GuardedUnion(tuple(found)) if left is None else Sometimes(tuple(found))


def or_else(given: Value, default: Value) -> Value:
    """What a parameter gets: its default on the paths where it is not given."""
    if not isinstance(given, Sometimes):
        return given
    left = TRUE.add(either([path.formula for path, _ in given.options]), False)
    return choose([*given.options, *([(left, default)] if left is not None else [])])


def unmarked(alternatives: list[tuple[PathCondition, T]], since: int) -> list[tuple[PathCondition, T]]:
    """The ends of a function by what they ask alone, where that keeps them apart: what they say holds backwards too.

    ``if not f()`` then says what ``f`` asked, and not only that it took another way out. What it asked may speak of
    ways that were taken before it was called: only the marks from ``since`` on are its own.
    """
    plain = [(guard.unforked_since(since), value) for guard, value in alternatives]
    if len(plain) > BUDGET.few_options or all(new is old for (new, _), (old, _) in zip(plain, alternatives)):
        return alternatives
    apart = all(not one.compatible(other) for (one, _), (other, _) in itertools.combinations(plain, 2))
    return plain if apart else alternatives


def _few_closures(options_: list[tuple[PathCondition, Value]]) -> list[tuple[PathCondition, Value]]:
    """A function that a loop wraps and wraps again is one of many: what it closes over proves nothing then."""
    seen: dict[Any, list[Func]] = {}
    found: list[tuple[PathCondition, Value]] = []
    for guard, leaf in options_:
        if isinstance(leaf, Func) and leaf.closure:
            same = seen.setdefault(leaf.node, [])
            if leaf not in same and len(same) >= BUDGET.closures:
                guard, leaf = guard.add(("truth", (LARGE, leaf.node))) or guard, same[0]
            elif leaf not in same:
                same.append(leaf)
        found.append((guard, leaf))
    return found


def _by_value(options_: list[tuple[PathCondition, Value]]) -> list[tuple[PathCondition, Value]]:
    """Each value once, on the paths on which it is the one; few paths are only united where that loses nothing."""
    paths: dict[Value, list[PathCondition]] = {}
    for guard, leaf in _few_closures(options_):
        paths.setdefault(leaf, []).append(guard)
    many = len(options_) > BUDGET.few_options
    found = []
    for leaf, guards in paths.items():
        if len(guards) > 1:
            guards = merged(guards)
        if len(guards) > 1 and many:
            guards = [TRUE.add(either([guard.formula for guard in guards])) or TRUE]
        found += [(guard, leaf) for guard in guards]
    return found


def perhaps_other(item: Value, why: str) -> Value:
    """A number or a text in a container may be another one now; which objects it holds is open anyway."""
    return unknown(f"a value that {why}") if isinstance(item, (Const, Cond, Rank, Text)) else item
