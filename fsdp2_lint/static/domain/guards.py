"""Path conditions: what must hold for an event to happen.

A :class:`Guard` is a conjunction of formulas. Guards are immutable and shared, so that
putting one on each event is free, and two events are exclusive when their conjunction
is contradictory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from ..budget import BUDGET
from . import formulas
from .formulas import (
    Formula,
    Interned,
    asserted,
    atoms,
    both,
    dropped,
    intern,
    is_fork,
    is_large,
    key_of,
    keys_of,
    literal,
    negate,
)
from .thresholds import ANY, Range, exactly, is_number


class Pool:
    """How many conditions the guards of an entry hold: about 100 bytes each."""

    made = 0


def forget() -> None:
    """Guards and formulas are shared within one entry; between entries nothing refers to them."""
    Pool.made = 0
    formulas.forget_formulas()
    _guards.clear()
    TOP._extended.clear()
    TOP._joined.clear()


class Single:
    """What is equal to itself alone, as a member of an enumeration is."""

    __slots__ = ()


Literals = frozenset[tuple[Formula, bool]]
_guards: dict[tuple[tuple[Formula, bool], ...], Guard] = {}


class Guard:
    """An immutable conjunction. ``TOP`` is the empty one; extend it with :meth:`add`."""

    __slots__ = (
        "literals", "_truths", "_equal", "_among", "_ranges",
        "_composites", "_asked", "_extended", "_joined", "_set", "_blurred", "_open",
    )  # fmt: skip

    def __init__(self) -> None:
        self.literals: tuple[tuple[Formula, bool], ...] = ()
        self._truths: dict[Formula, bool] = {}
        self._equal: dict[int, Any] = {}  # by the number of the unknown, as is the next
        self._among: dict[int, frozenset[Any]] = {}  # which constants an unknown may equal
        self._ranges: dict[int, Range] = {}  # between which numbers an unknown lies
        self._composites: tuple[Interned, ...] = ()  # an "or" that is true, an "and" that is false: not met yet
        self._asked: frozenset[int] = frozenset()  # what those are about
        self._extended: dict[tuple[Formula, bool], Guard | None] = {}
        self._joined: dict[Guard, Guard | None] = {}
        self._set: Literals | None = None
        self._open: set[Interned] | None = set()  # composites that it leaves open; None while it is being made
        self._blurred: frozenset[Formula] | None = None

    @property
    def formula(self) -> Formula:
        """This conjunction as one formula."""
        return both([part if truth else negate(part) for part, truth in self.literals])

    def beyond(self, other: Guard) -> Formula:
        """What ``other`` asks for that this path does not say already."""
        literals = [literal for literal in other.literals if self.decide(literal[0]) is not literal[1]]
        return both([part if truth else negate(part) for part, truth in literals])

    def decide(self, formula: Formula) -> bool | None:
        """The truth of ``formula`` on this path, or None."""
        if isinstance(formula, bool):
            return formula
        if not isinstance(formula, Interned):
            formula = intern(formula)
        known = self._truths.get(formula)
        return known if known is not None else self._infer(formula)

    def _infer(self, formula: Interned) -> bool | None:
        """The truth of a formula that was not asked for itself on this path."""
        kind = formula[0]
        if kind == "not":
            inner = self._truths.get(formula[1])
            if inner is None:
                inner = self._infer(formula[1])
            return None if inner is None else not inner
        if kind == "is":
            key = formula.key or key_of(formula)
            if key in self._equal:
                return _same(self._equal[key], formula[2])
            if key in self._among and formula[2] not in self._among[key]:
                return False
            if key in self._ranges and not self._may_be(formula[2], self._ranges[key]):
                return False
            truth = self._truths.get(formula.asserted or asserted(formula))
            if truth is not None and isinstance(formula[2], _CONSTANT) and bool(formula[2]) is not truth:
                return False  # ``if not x`` and ``if x == "fsdp"`` exclude each other
            return None
        if kind == "truth":
            key = formula.key or key_of(formula)
            if key in self._equal:
                return bool(self._equal[key])
            return True if key in self._ranges and not self._ranges[key].holds(0) else None
        if kind == "compared":
            key = formula.key or key_of(formula)
            if not (key in self._ranges or key in self._equal or key in self._among):
                if self._truths.get(formula.asserted or asserted(formula)) is not False:
                    return None  # nothing is known of it, as of most
            answers = {each.decides(formula[2], formula[3]) for each in self._ranges_of(formula)}
            return answers.pop() if len(answers) == 1 else None
        return self._settle(formula)

    @staticmethod
    def _may_be(value: Any, compared: Range) -> bool:
        """May what was compared with numbers be this? None cannot, whatever the answer was."""
        return value is not None and (not is_number(value) or compared.holds(value))

    def _ranges_of(self, leaf: Interned) -> Iterable[Range]:
        """Between which numbers the unknown of a comparison lies on this path; one range per number it may be."""
        key = leaf.key or key_of(leaf)
        falsy: Collection[Any] = (0,) if self._truths.get(asserted(leaf)) is False else self._among.get(key, ())
        among: Collection[Any] = (self._equal[key],) if key in self._equal else falsy
        if among and all(map(is_number, among)):
            return map(exactly, among)
        return (self._ranges.get(key, ANY),)

    def add(self, formula: Formula, truth: bool = True) -> Guard | None:
        """This path where ``formula`` is also ``truth``; None if that cannot be."""
        key = (intern(formula), truth)
        if key not in self._extended:
            self._extended[key] = self._with((key,))
        return self._extended[key]

    def join(self, other: Guard) -> Guard | None:
        """Both conjunctions together; None if the two exclude each other."""
        if other is self or not other.literals:
            return self
        if not self.literals:
            return other
        if other not in self._joined:
            self._joined[other] = self._with(other.literals)
        return self._joined[other]

    def _with(self, literals: Iterable[tuple[Formula, bool]]) -> Guard | None:
        """This path and these formulas; None where they contradict each other."""
        fresh = []  # most joins add nothing or contradict, which is seen without a copy
        for formula, truth in literals:
            known = self._truths.get(formula)
            if known is None and not isinstance(formula, bool) and formula[0] in ("is", "truth", "compared"):
                known = self._infer(formula)
            if known is None:
                fresh.append((formula, truth))
            elif known is not truth:
                return None
        if not fresh:
            return self
        new = Guard()
        new.literals, new._open = self.literals, None
        new._truths, new._equal, new._among = dict(self._truths), self._equal, self._among
        new._ranges = self._ranges
        new._composites, new._asked = self._composites, self._asked
        for formula, truth in fresh:
            if not new._assume(formula, truth):
                return None
        if len(new.literals) == len(self.literals):
            return self
        new._open = set()
        kept = _guards.setdefault(new.literals, new)
        if kept is new:
            Pool.made += len(new.literals)
        return kept

    def _assume(self, formula: Formula, truth: bool, *, stated: bool = True) -> bool:
        """Take a formula as a fact, in place (nobody else knows this guard yet); False if it contradicts the others.

        What only follows from others is not ``stated``: it decides like them, but is no literal of its own.
        """
        while not isinstance(formula, bool) and formula[0] == "not":
            formula, truth = formula[1], not truth
        known = self._known(formula)
        if known is not None:
            return known is truth
        kept = formula[0] == ("or" if truth else "and")  # the other ones fall into their parts
        met = self._met(formula) if kept else None
        if isinstance(met, bool):
            return met
        if formula[0] == "compared" and self._equal.get(key_of(formula), 0) is None:
            return False  # Python compares None with no number
        if stated and len(self.literals) >= BUDGET.literals:  # only marked, not kept: what comes now proves nothing
            if any(_is_large(known) for known, _ in self.literals):
                return True
            formula, truth, kept = dropped(object()), True, False  # equal to no other
        if formula[0] in ("and", "or") and not kept:
            return all(self._assume(part, truth, stated=stated) for part in formula[1])
        if stated:
            self.literals = (*self.literals, literal(formula, truth))
        self._truths[formula] = truth
        if kept:
            return self._hold(formula, met)
        if formula[0] == "is" and truth:
            self._equal = {**self._equal, key_of(formula): formula[2]}
        if formula[0] == "compared":
            held = self._ranges.get(key_of(formula), ANY)
            self._ranges = {**self._ranges, key_of(formula): held.narrowed(formula[2], formula[3], truth)}
        if formula.others and not truth and not self._leaves_one(formula):
            return False
        return (formula.key or key_of(formula)) not in self._asked or self._holds_with(formula.key)

    def _leaves_one(self, excluded: Interned) -> bool:
        """One of a closed list is excluded: the last that is left it must be; False if none is left."""
        left = [other for other in excluded.others if self._known(other) is not False]
        return bool(left) and (len(left) > 1 or self._assume(left[0], True, stated=False))

    def _known(self, formula: Formula) -> bool | None:
        """The truth of a formula as far as it is no matter of its parts, which are looked at in another way."""
        if isinstance(formula, bool):
            return formula
        known = self._truths.get(formula)
        return self._infer(formula) if known is None and formula[0] not in ("and", "or") else known

    def _hold(self, composite: Interned, last: Interned | None) -> bool:
        """Keep what is not met yet, and what is left to meet it if it is one; False if it contradicts the others."""
        self._composites, self._asked = (*self._composites, composite), self._asked | keys_of(composite)
        if not self._holds_with_part(composite) or composite[0] == "or" and not self._narrow(composite):
            return False
        return last is None or self._assume(last, composite[0] == "or", stated=False)

    def _holds_with(self, key: int) -> bool:
        """Do the composites still hold that are about what is news? One that is settled by it is not asked again."""
        settled, forced = [], []
        for composite in [each for each in self._composites if key in keys_of(each)]:
            met = self._met(composite)
            if met is False:
                return False
            if met is not None:
                settled.append(composite)
            if isinstance(met, Interned):
                forced.append((met, composite[0] == "or"))
        if settled:
            self._composites = tuple(each for each in self._composites if each not in settled)
        return all(self._assume(part, truth, stated=False) for part, truth in forced)

    def _holds_with_part(self, news: Interned) -> bool:
        """Do the composites still hold that this one may be a part of?"""
        keys = keys_of(news)
        return all(self._can_be_met(each) for each in self._composites[:-1] if keys <= keys_of(each))

    def _can_be_met(self, composite: Interned) -> bool:
        """One part that is not against it is enough; most often it is one of those that were open the last time."""
        against = composite[0] == "and"
        for part in (*composite.watched, *composite[1]) if composite.watched else composite[1]:
            answer = self._truths.get(part)
            if answer is None:
                answer = self._infer(part)
            if answer is not against:
                return True
        return False

    def _met(self, composite: Interned) -> bool | Interned | None:
        """Is what a composite asks (an "or" to be true, an "and" to be false) met, still open or contradicted?

        Two parts that can still meet it leave it open; most often it is the two that could the last time. One that is
        left alone must meet it: it is the answer.
        """
        deciding = composite[0] == "or"
        left: list[Interned] = []
        for part in (*composite.watched, *composite[1]) if composite.watched else composite[1]:
            answer = self._truths.get(part)
            if answer is None:
                answer = self._infer(part)
            if answer is deciding:
                composite.watched = (part,)
                return True
            if answer is None and part not in left:
                left.append(part)
                if len(left) == 2:
                    composite.watched = tuple(left)
                    return None
        composite.watched = tuple(left)
        return left[0] if left else False

    def _narrow(self, disjunction: Formula) -> bool:
        """``x == 1 or x == 2``: two of these about the same unknown may leave nothing."""
        keys = {key_of(part) for part in disjunction[1] if part[0] == "is" and isinstance(part[2], _CONSTANT)}
        if len(keys) == 1 and all(part[0] == "is" for part in disjunction[1]):
            key = keys.pop()
            left = frozenset(part[2] for part in disjunction[1] if self.decide(part) is not False)
            self._among = {**self._among, key: left}
            return bool(left)
        return True

    def _settle(self, composite: Formula) -> bool | None:
        """Decide a composite from its parts alone, not from its own recorded truth."""
        if self._open is not None and composite in self._open:
            return None  # as most are, and most are asked again
        deciding = composite[0] == "or"
        open_part = False
        for part in composite[1]:
            answer = self._truths.get(part)
            if answer is None:
                answer = self._infer(part)
            if answer is deciding:
                return deciding
            open_part = open_part or answer is None
        if not open_part:
            return not deciding
        if self._open is not None:
            self._open.add(composite)
        return None

    def compatible(self, other: Guard) -> bool:
        """Can both hold? As ``join``, but most often seen without a new path."""
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
        return self.join(other) is not None

    @property
    def blurred(self) -> frozenset[Formula]:
        """Conditions that are too large to be compared with others."""
        if self._blurred is None:
            self._blurred = frozenset(formula for formula, _ in self.literals if _is_large(formula))
        return self._blurred

    def implies(self, other: Guard) -> bool:
        return all(self.decide(formula) is truth for formula, truth in other.literals)

    @property
    def literal_set(self) -> Literals:
        if self._set is None:
            self._set = frozenset(self.literals)
        return self._set

    def without_literals(self, drop: Literals) -> Guard:
        return TOP._with(literal for literal in self.literals if literal not in drop) or TOP

    @property
    def unforked(self) -> Guard:
        """This path without the marks that only keep early ends of blocks apart from what follows them."""
        return self.unforked_since(0)

    def unforked_since(self, number: int) -> Guard:
        """Likewise, without the marks that were made since that number was the last."""
        forks = frozenset(part for part in self.literals if is_fork(part[0]) and part[0][1][1] > number)
        return self.without_literals(forks) if forks else self

    @property
    def undriven(self) -> Guard:
        """This path without the guess in which order the methods of a class are driven."""
        if not any(_is_drive(formula) for formula, _ in self.literals):
            return self
        key = (TOP_KEY, True)
        if key not in self._extended:
            self._extended[key] = self.without_literals(frozenset(part for part in self.literals if _is_drive(part[0])))
        return self._extended[key] or self

    def __repr__(self) -> str:
        return " & ".join(f"{'' if truth else '!'}{formula}" for formula, truth in self.literals) or "TOP"


def _same(left: Any, right: Any) -> bool | None:
    """Equality of two constants; None where one of them is itself an unknown."""
    if left == right:
        return True
    return False if isinstance(left, _CONSTANT) and isinstance(right, _CONSTANT) else None


def _is_large(formula: Formula) -> bool:
    """Does it ask, among other things, what was too large to be compared?"""
    return any(map(is_large, atoms(formula)))


def _is_drive(formula: Formula) -> bool:
    return bool(formula[0] == "is" and isinstance(formula[1], tuple) and formula[1][0] == "drive")


TOP_KEY = "undriven"
_CONSTANT = (int, float, str, bytes, type(None), Single)
TOP = Guard()
