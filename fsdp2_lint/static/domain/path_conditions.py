"""Path conditions: what must hold for an event to happen.

A :class:`PathCondition` is a conjunction of formulas. It guards events. It is immutable and shared, so that
putting one on each event is free, and two events are exclusive when their conjunction
is contradictory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from ..budget import BUDGET
from . import formulas
from .formulas import Formula, both, intern, is_fork, key_of, keys_of, negate, shared
from .knowledge import NONE_OPEN, Knowledge, asks_large


class Pool:
    """How many conditions the guards of an entry hold, about 100 bytes each, and what comparing some of them took."""

    made = 0
    tried = 0  # paths that were put together from two, kept or not
    weighed = 0  # in looks at events, which take as long; whoever counts those takes it off here


def forget() -> None:
    """Guards and formulas are shared within one entry; between entries nothing refers to them.

    They refer to each other in circles. Cutting these frees them at once, at half of what the garbage collector takes.
    """
    Pool.made = Pool.tried = Pool.weighed = 0
    formulas.forget_formulas()
    for guard in (TRUE, *_guards.values()):
        guard._extended.clear()
        guard._joined.clear()
        guard._cases.clear()
        guard._undriven = None  # which it may be itself
    _guards.clear()
    _groups.clear()
    _meetings.clear()


LOOKS = 100  # one try to add a condition takes as long as so many looks at events
K = TypeVar("K")
V = TypeVar("V")
Literal = tuple[Formula, bool]
Literals = frozenset[Literal]
_guards: dict[tuple[Literal, ...], PathCondition] = {}
_groups: dict[tuple[Literal, ...], int] = {}  # the number of each group of literals
_meetings: dict[tuple[Any, ...], bool] = {}  # can a path be where others say what the groups of these numbers do?


class PathCondition(Knowledge):
    """An immutable conjunction. ``TRUE`` is the empty one; extend it with :meth:`add`."""

    __slots__ = ("_extended", "_joined", "_set", "_blurred", "_cases", "_parts", "_undriven")

    def __init__(self) -> None:
        super().__init__()
        self._extended: dict[tuple[Formula, bool], PathCondition | None] = {}
        self._joined: dict[PathCondition, PathCondition | None] = {}
        self._set: Literals | None = None
        self._blurred: frozenset[Formula] | None = None
        self._cases: dict[PathCondition, bool] = {}
        self._undriven: PathCondition | None = None
        self._parts: tuple[tuple[frozenset[int], int], ...] | None = None

    @property
    def formula(self) -> Formula:
        """This conjunction as one formula."""
        return both([part if truth else negate(part) for part, truth in self.literals])

    def beyond(self, other: PathCondition) -> Formula:
        """What ``other`` asks for that this path does not say already."""
        literals = [literal for literal in other.literals if self.decide(literal[0]) is not literal[1]]
        return both([part if truth else negate(part) for part, truth in literals])

    def add(self, formula: Formula, truth: bool = True) -> PathCondition | None:
        """This path where ``formula`` is also ``truth``; None if that cannot be."""
        key = (intern(formula), truth)
        if key not in self._extended:
            self._extended[key] = self._with((key,))
        return self._extended[key]

    def join(self, other: PathCondition) -> PathCondition | None:
        """Both conjunctions together; None if the two exclude each other."""
        if other is self or not other.literals:
            return self
        if not self.literals:
            return other
        if other not in self._joined:
            apart = self.keys.isdisjoint(other.keys) and len(self.literals) + len(other.literals) <= BUDGET.literals
            self._joined[other] = self._kept(self._beside(other)) if apart else self._with(other.literals)
        return self._joined[other]

    def _beside(self, other: PathCondition) -> PathCondition:
        """Both, where none asks what the other one does: nothing new follows."""
        Pool.tried += 1
        new = PathCondition()
        new.literals, new.keys = (*self.literals, *other.literals), shared(self.keys | other.keys)
        new._truths, new._equal = _united(self._truths, other._truths), _united(self._equal, other._equal)
        new._among, new._ranges = _united(self._among, other._among), _united(self._ranges, other._ranges)
        new._spelled = _united(self._spelled, other._spelled)
        new._composites = (*self._composites, *other._composites)
        new._asked = shared(self._asked | other._asked)
        return new

    def _with(self, literals: Iterable[tuple[Formula, bool]]) -> PathCondition | None:
        """This path and these formulas; None where they contradict each other."""
        new = self._tried(literals)
        return new if new is None or new is self else self._kept(new)

    @staticmethod
    def _kept(new: PathCondition) -> PathCondition:
        """The one that stands for all with these literals."""
        kept = _guards.setdefault(new.literals, new)
        if kept is new:
            Pool.made += len(new.literals)
        return kept

    def _tried(self, literals: Iterable[tuple[Formula, bool]]) -> PathCondition | None:
        """Likewise, but the path is not kept: it is equal to no other."""
        fresh = []  # most joins add nothing or contradict, which is seen without a copy
        for formula, truth in literals:
            known = self._truths.get(formula)
            if known is None and not isinstance(formula, bool) and formula[0] in ("is", "truth", "compared", "spelled"):
                known = self._infer(formula)
            if known is None:
                fresh.append((formula, truth))
            elif known is not truth:
                return None
        if not fresh:
            return self
        Pool.tried += 1
        new = PathCondition()
        new.literals, new.keys, new._open = self.literals, self.keys, None
        new._truths, new._equal, new._among = dict(self._truths), self._equal, self._among
        new._ranges, new._spelled = self._ranges, self._spelled
        new._composites, new._asked = self._composites, self._asked
        formula, truth = fresh[0]  # which is known to be open
        first = new._assume if isinstance(formula, bool) or formula[0] == "not" else new._take
        if not first(formula, truth, True):
            return None
        for formula, truth in fresh[1:]:
            if not new._assume(formula, truth):
                return None
        if len(new.literals) == len(self.literals):
            return self
        new._open, new.keys = NONE_OPEN, shared(new.keys)
        return new

    def compatible(self, other: PathCondition) -> bool:
        """Can both hold? As ``join``, but most often seen without a new path."""
        if self.keys.isdisjoint(other.keys):
            return True
        if other is not self and other not in self._joined:
            for formula, truth in other.literals:
                known = self._truths.get(formula)
                if known is None:
                    if formula[0] in ("and", "or"):
                        break
                    known = self._infer(formula)
                if known is None:
                    key = formula.key or key_of(formula)
                    if key in self._asked or formula.others or formula[0] == "compared" and key in self._equal:
                        break
                if known is (not truth):
                    return False
            else:
                return True
        if other is self or other in self._joined:
            return self.join(other) is not None
        return self._may_meet(other)

    def _may_meet(self, other: PathCondition) -> bool:
        """Likewise, once for all paths that say the same of what the other one asks."""
        if len(self.literals) + len(other.literals) > BUDGET.literals:
            return self._tried(other.literals) is not None
        key = (other, *(group for keys, group in self._groups() if not keys.isdisjoint(other.keys)))
        if key not in _meetings:
            _meetings[key] = self._tried(other.literals) is not None
        return _meetings[key]

    def _groups(self) -> tuple[tuple[frozenset[int], int], ...]:
        """Its literals by what they are about: two of different groups have nothing to do with each other."""
        if self._parts is None:
            found: list[tuple[frozenset[int], list[Literal]]] = []
            for part in self.literals:
                keys, group = keys_of(part[0]), [part]
                for other in [each for each in found if not each[0].isdisjoint(keys)]:
                    found.remove(other)
                    keys, group = keys | other[0], other[1] + group
                found.append((keys, group))
            self._parts = tuple((keys, _groups.setdefault(tuple(group), len(_groups))) for keys, group in found)
        return self._parts

    def in_one_case(self, other: PathCondition) -> bool:
        """As ``compatible``, but composites of both about the same unknowns are taken part by part.

        ``(a and x == 1) or (b and y == 1)`` and ``(a and x == 2) or (b and y == 2)`` leave each other two parts, none
        of which can be where ``a`` and ``b`` exclude each other.
        """
        if not self.compatible(other):
            return False
        if not self._asked & other._asked:
            return True
        if other not in self._cases:
            both = self._tried(other.literals)
            self._cases[other] = both is not None and all(
                any(both._leaves_open(part, each[0] == "or") for part in each[1])
                for each in both._composites
                if keys_of(each) & self._asked & other._asked
            )
        return self._cases[other]

    def _leaves_open(self, part: Formula, truth: bool) -> bool:
        """May a part of what it asks be so?"""
        Pool.weighed += LOOKS
        return self._tried(((part, truth),)) is not None

    @property
    def blurred(self) -> frozenset[Formula]:
        """Conditions that are too large to be compared with others."""
        if self._blurred is None:
            self._blurred = frozenset(formula for formula, _ in self.literals if asks_large(formula))
        return self._blurred

    def implies(self, other: PathCondition) -> bool:
        return all(self.decide(formula) is truth for formula, truth in other.literals)

    @property
    def literal_set(self) -> Literals:
        if self._set is None:
            self._set = frozenset(self.literals)
        return self._set

    def without_literals(self, drop: Literals) -> PathCondition:
        return TRUE._with(literal for literal in self.literals if literal not in drop) or TRUE

    @property
    def unforked(self) -> PathCondition:
        """This path without the marks that only keep early ends of blocks apart from what follows them."""
        return self.unforked_since(0)

    def unforked_since(self, number: int) -> PathCondition:
        """Likewise, without the marks that were made since that number was the last."""
        forks = frozenset(part for part in self.literals if is_fork(part[0]) and part[0][1][1] > number)
        return self.without_literals(forks) if forks else self

    @property
    def undriven(self) -> PathCondition:
        """This path without the guess in which order the methods of a class are driven."""
        if self._undriven is None:
            guesses = frozenset(part for part in self.literals if _is_drive(part[0]))
            self._undriven = self.without_literals(guesses) if guesses else self
        return self._undriven

    def __repr__(self) -> str:
        return " & ".join(f"{'' if truth else '!'}{formula}" for formula, truth in self.literals) or "TRUE"


def _united(one: dict[K, V], other: dict[K, V]) -> dict[K, V]:
    """What both know; neither is ever changed, so that one may stand for both."""
    return {**one, **other} if one and other else one or other


def _is_drive(formula: Formula) -> bool:
    return bool(formula[0] == "is" and isinstance(formula[1], tuple) and formula[1][0] == "drive")


TRUE = PathCondition()
