"""Formulas: what is asked of unknown values, as hashable tuples that exist once.

A *formula* is ``True``, ``False`` or a tuple::

    ("is", key, constant)   the unknown ``key`` equals a constant (also: one arm of a fork)
    ("truth", key)          the unknown ``key`` is true
    ("compared", key, op, number)   the unknown ``key`` is ">" or ">=" the number
    ("spelled", key, how, text)     the unknown ``key`` "startswith", "endswith" or has "in" it the text
    ("not", f)  ("and", (f, ...))  ("or", (f, ...))

Equality of unknowns is symbolic: the same unknown asked twice gives the same truth. That is
only ever used to keep events apart, never to join them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from ..budget import BUDGET

Formula = Any  # bool or one of the tuples above; recursive types add nothing here
LARGE = "a condition too large to keep"
_DROPPED = "conditions of which nothing was kept"


class Interned(tuple):  # type: ignore[type-arg]
    """A formula that exists once, so that comparing and hashing it cost nothing; what is asked of it is kept."""

    key = 0  # a number for the unknown that a leaf is about: unknowns are deep, and hashing them is dear
    asserted: Interned | None = None  # of a leaf: the formula that says that its unknown is true
    size = 0  # how many leaves it has
    leaves: tuple[Interned, ...] = ()  # of a composite, once they were asked for
    keys: frozenset[int] = frozenset()  # of the unknowns that its leaves are about, once they were asked for
    literals: tuple[tuple[Interned, bool], tuple[Interned, bool]] | None = None  # that it is false, that it is true
    others: tuple[Interned, ...] = ()  # of an "is" about an unknown that is one of a closed list: what else it may be
    of_rank: bool | None = None  # does it speak of a rank? Once that was asked
    watched: tuple[Interned, ...] = ()  # of a composite: the parts that could meet it when it was last asked
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
    for formula in _interned.values():
        formula.literals = formula.asserted = None  # which refer to it
        formula.watched = ()
    _interned.clear()
    _numbers.clear()
    _key_sets.clear()


def negate(formula: Formula) -> Formula:
    if isinstance(formula, bool):
        return not formula
    formula = intern(formula)
    return formula[1] if formula[0] == "not" else intern(("not", formula))


def both(formulas: Iterable[Formula]) -> Formula:
    return _combine("and", formulas, neutral=True)


def either(formulas: Iterable[Formula]) -> Formula:
    return _combine("or", formulas, neutral=False)


def is_large(leaf: Formula) -> bool:
    """Does it stand for a condition that is not kept?"""
    return isinstance(leaf, tuple) and isinstance(leaf[1], tuple) and leaf[1][0] == LARGE


def dropped(which: object) -> Formula:
    """What stands for conditions of which nothing is kept; it is equal where ``which`` is."""
    return intern(("truth", (LARGE, _DROPPED, which)))


def is_dropped(leaf: Formula) -> bool:
    """Does it stand for such conditions? Anything may have been asked in them."""
    return is_large(leaf) and leaf[1][1] == _DROPPED


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
    return made if _leaves(made) <= BUDGET.questions else dropped(id(made))


def _leaves(formula: Formula) -> int:
    if isinstance(formula, bool):
        return 0
    if not formula.size:
        if formula[0] == "not":
            formula.size = _leaves(formula[1])
        else:
            formula.size = sum(map(_leaves, formula[1])) if formula[0] in ("and", "or") else 1
    return int(formula.size)


def atoms(formula: Formula) -> tuple[Interned, ...]:
    """The leaves of a formula."""
    if isinstance(formula, bool):
        return ()
    known: Interned = intern(formula)
    if known[0] not in ("not", "and", "or"):
        return (known,)  # not kept: what holds itself has to be collected
    if not known.leaves:
        parts = known[1:] if known[0] == "not" else known[1]
        known.leaves = tuple(leaf for part in parts for leaf in atoms(part))
    return known.leaves


def key_of(leaf: Interned) -> int:
    """The number of the unknown that a leaf is about."""
    if not leaf.key:
        leaf.key = _numbers.setdefault(leaf[1], next(_fresh))
    return leaf.key


def literal(formula: Interned, truth: bool) -> tuple[Interned, bool]:
    """The pair that says so; many path conditions hold it."""
    if formula.literals is None:
        formula.literals = (formula, False), (formula, True)
    return formula.literals[truth]


def asserted(leaf: Interned) -> Interned:
    """The formula that says that the unknown of this leaf is true."""
    if leaf.asserted is None:
        leaf.asserted = intern(("truth", leaf[1]))
    return leaf.asserted


def one_of(key: object, constants: Iterable[object]) -> None:
    """The unknown equals one of these, whatever the path."""
    leaves = [intern(("is", key, constant)) for constant in constants]
    for leaf in leaves:
        leaf.others = tuple(other for other in leaves if other is not leaf)


def keys_of(formula: Interned) -> frozenset[int]:
    """The numbers of what the leaves of a formula are about: only news of those can settle it."""
    if not formula.keys:
        if formula[0] == "not":
            formula.keys = keys_of(formula[1])
        elif formula[0] in ("and", "or"):
            formula.keys = shared(frozenset[int]().union(*map(keys_of, formula[1])))
        else:
            formula.keys = shared(frozenset((key_of(formula),)))
    return formula.keys


def shared(keys: frozenset[int]) -> frozenset[int]:
    """The one that stands for all that are equal: a set takes more memory than all else that a path has of its own."""
    return _key_sets.setdefault(keys, keys)


_key_sets: dict[frozenset[int], frozenset[int]] = {}
_numbers: dict[Any, int] = {}
_fresh = itertools.count(1)  # never used twice: a formula that outlives its entry keeps its number


def is_fork(formula: Formula) -> bool:
    """Is it one arm of a decision that the program takes, rather than something it asks?"""
    return (
        isinstance(formula, tuple) and formula[0] == "is" and isinstance(formula[1], tuple) and formula[1][0] == "fork"
    )
