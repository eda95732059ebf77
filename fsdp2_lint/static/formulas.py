"""Formulas: what is asked of unknown values, as hashable tuples that exist once.

A *formula* is ``True``, ``False`` or a tuple::

    ("is", key, constant)   the unknown ``key`` equals a constant (also: one arm of a fork)
    ("truth", key)          the unknown ``key`` is true
    ("not", f)  ("and", (f, ...))  ("or", (f, ...))

Equality of unknowns is symbolic: the same unknown asked twice gives the same truth. That is
only ever used to keep events apart, never to join them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

Formula = Any  # bool or one of the tuples above; recursive types add nothing here
LARGE = "a condition too large to keep"
MAX_LEAVES = 40  # a larger composite becomes an unknown of its own: it only loses correlation


class Interned(tuple):  # type: ignore[type-arg]
    """A formula that exists once, so that comparing and hashing it cost nothing."""

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = object.__eq__
    __ne__ = object.__ne__


_interned: dict[tuple[Any, ...], Interned] = {}


def intern(formula: Formula) -> Formula:
    if isinstance(formula, (bool, Interned)):
        return formula
    found = _interned.get(formula)
    if found is None:
        found = _interned[formula] = Interned(formula)
    return found


def forget_formulas() -> None:
    """Formulas are shared within one entry; between entries nothing refers to them."""
    _interned.clear()
    _sizes.clear()
    _touched.clear()


def negate(formula: Formula) -> Formula:
    if isinstance(formula, bool):
        return not formula
    formula = intern(formula)
    return formula[1] if formula[0] == "not" else intern(("not", formula))


def both(formulas: Iterable[Formula]) -> Formula:
    return _combine("and", formulas, neutral=True)


def either(formulas: Iterable[Formula]) -> Formula:
    return _combine("or", formulas, neutral=False)


def _combine(kind: str, formulas: Iterable[Formula], *, neutral: bool) -> Formula:
    found: dict[Formula, None] = {}
    for formula in map(intern, formulas):
        if formula is (not neutral):
            return not neutral
        if formula is not neutral:
            found[formula] = None
    kept = list(found)
    if len(kept) < 2:
        return kept[0] if kept else neutral
    made = intern((kind, tuple(kept)))
    return made if _leaves(made) <= MAX_LEAVES else intern(("truth", (LARGE, id(made))))


def _leaves(formula: Formula) -> int:
    if isinstance(formula, bool):
        return 0
    found = _sizes.get(formula)
    if found is None:
        if formula[0] == "not":
            found = _leaves(formula[1])
        else:
            found = sum(map(_leaves, formula[1])) if formula[0] in ("and", "or") else 1
        _sizes[formula] = found
    return found


def atoms(formula: Formula) -> Iterator[tuple[Any, ...]]:
    """The leaves of a formula."""
    if isinstance(formula, bool):
        return
    kind = formula[0]
    if kind == "not":
        yield from atoms(formula[1])
    elif kind in ("and", "or"):
        for part in formula[1]:
            yield from atoms(part)
    else:
        yield formula


def touches(composite: Formula) -> frozenset[Any]:
    """The leaves of a composite and what they are about: only those can settle it."""
    found = _touched.get(composite)
    if found is None:
        found = _touched[composite] = frozenset(item for atom in atoms(composite) for item in (atom, atom[1]))
    return found


_sizes: dict[Formula, int] = {}
_touched: dict[Formula, frozenset[Any]] = {}


def is_fork(formula: Formula) -> bool:
    """Is it one arm of a decision that the program takes, rather than something it asks?"""
    return (
        isinstance(formula, tuple) and formula[0] == "is" and isinstance(formula[1], tuple) and formula[1][0] == "fork"
    )
