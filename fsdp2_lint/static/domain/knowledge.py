"""What follows from formulas that hold together: by equality, by ranges of numbers, by what an "or" leaves."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from ..budget import BUDGET
from .formulas import Formula, Interned, asserted, atoms, dropped, intern, is_large, key_of, keys_of, literal, shared
from .spellings import Asked, all_alike, follows, may_be
from .thresholds import ANY, Range, exactly, is_number


class Single:
    """What is equal to itself alone, as a member of an enumeration is."""

    __slots__ = ()


NONE_OPEN: set[Interned] = set()  # of all that were asked nothing so far; nothing is put into it
_CONSTANT = (int, float, str, bytes, type(None), Single)


class Knowledge:
    """Formulas that are taken for facts, and what they decide. Only whoever makes one adds to it."""

    __slots__ = (
        "literals", "keys", "_truths", "_equal", "_among", "_ranges", "_spelled", "_composites", "_asked", "_open",
    )  # fmt: skip

    def __init__(self) -> None:
        self.literals: tuple[tuple[Formula, bool], ...] = ()
        self.keys: frozenset[int] = frozenset()  # the numbers of all that it speaks of: it says nothing of others
        self._truths: dict[Formula, bool] = {}
        self._equal: dict[int, Any] = {}  # by the number of the unknown, as is the next
        self._among: dict[int, frozenset[Any]] = {}  # which constants an unknown may equal
        self._ranges: dict[int, Range] = {}  # between which numbers an unknown lies
        self._spelled: dict[int, tuple[tuple[Asked, bool], ...]] = {}  # what was asked of the spelling of an unknown
        self._composites: tuple[Interned, ...] = ()  # an "or" that is true, an "and" that is false: not met yet
        self._asked: frozenset[int] = frozenset()  # what those are about: their keys, which are known by then
        self._open: set[Interned] | None = NONE_OPEN  # composites that it leaves open; None while it is being made

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
        if kind in ("and", "or"):
            return self._settle(formula)
        key = formula.key or key_of(formula)
        if key not in self.keys:
            return None  # as of most
        if kind == "is":
            if key in self._equal:
                return _same(self._equal[key], formula[2])
            if key in self._among and formula[2] not in self._among[key]:
                return False
            if key in self._ranges and not self._may_be(formula[2], self._ranges[key]):
                return False
            if key in self._spelled and not may_be(formula[2], self._spelled[key]):
                return False
            truth = self._truths.get(formula.asserted or asserted(formula))
            if truth is not None and isinstance(formula[2], _CONSTANT) and bool(formula[2]) is not truth:
                return False  # ``if not x`` and ``if x == "fsdp"`` exclude each other
            return None
        if kind == "truth":
            if key in self._equal:
                return bool(self._equal[key])
            return True if key in self._ranges and not self._ranges[key].holds(0) else None
        if kind == "compared":
            if not (key in self._ranges or key in self._equal or key in self._among):
                if self._truths.get(formula.asserted or asserted(formula)) is not False:
                    return None
            answers = {each.decides(formula[2], formula[3]) for each in self._ranges_of(formula)}
            return answers.pop() if len(answers) == 1 else None
        return self._spelling(key, (formula[2], formula[3]))

    def _spelling(self, key: int, asked: Asked) -> bool | None:
        """Is the unknown spelled so, by what it is, may be, or was asked before?"""
        if key in self._equal:
            return all_alike((self._equal[key],), asked)
        if (found := follows(self._spelled.get(key, ()), asked)) is not None:
            return found
        return all_alike(self._among[key], asked) if key in self._among else None

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

    def _assume(self, formula: Formula, truth: bool, stated: bool = True) -> bool:
        """Take a formula as a fact, in place (nobody else knows this guard yet); False if it contradicts the others.

        What only follows from others is not ``stated``: it decides like them, but is no literal of its own.
        """
        while not isinstance(formula, bool) and formula[0] == "not":
            formula, truth = formula[1], not truth
        known = self._known(formula)
        return self._take(formula, truth, stated) if known is None else known is truth

    def _take(self, formula: Interned, truth: bool, stated: bool) -> bool:
        """Likewise for one that is no "not", and that is open so far."""
        kind = formula[0]
        composite = kind in ("and", "or")
        kept = composite and kind == ("or" if truth else "and")  # the other ones fall into their parts
        met = self._met(formula) if kept else None
        if isinstance(met, bool):
            return met
        if kind == "compared" and self._equal.get(key_of(formula), 0) is None:
            return False  # Python compares None with no number
        if stated and len(self.literals) >= BUDGET.literals:  # only marked, not kept: what comes now proves nothing
            if any(asks_large(known) for known, _ in self.literals):
                return True
            formula, truth, composite = dropped(object()), True, False  # equal to no other
            kind = formula[0]
        if composite and not kept:
            return all(self._assume(part, truth, stated=stated) for part in formula[1])
        keys = formula.keys or keys_of(formula)
        if stated:
            self.literals = (*self.literals, literal(formula, truth))
            if not keys <= self.keys:
                self.keys |= keys
        self._truths[formula] = truth
        if composite:
            return self._hold(formula, met)
        key = formula.key or key_of(formula)
        if kind == "is":
            if truth:
                self._equal = {**self._equal, key: formula[2]}
            elif formula.others and not self._leaves_one(formula):
                return False
        elif kind == "compared":
            held = self._ranges.get(key, ANY)
            self._ranges = {**self._ranges, key: held.narrowed(formula[2], formula[3], truth)}
        elif kind == "spelled":
            told = self._spelled.get(key, ())
            self._spelled = {**self._spelled, key: (*told, ((formula[2], formula[3]), truth))}
        return key not in self._asked or self._holds_with(key)

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
        self._composites, self._asked = (*self._composites, composite), shared(self._asked | keys_of(composite))
        if not self._holds_with_part(composite) or composite[0] == "or" and not self._narrow(composite):
            return False
        return last is None or self._assume(last, composite[0] == "or", stated=False)

    def _holds_with(self, key: int) -> bool:
        """Do the composites still hold that are about what is news? One that is settled by it is not asked again."""
        settled, forced = [], []
        for composite in [each for each in self._composites if key in each.keys]:
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
        keys = news.keys
        for each in self._composites[:-1]:
            if keys <= each.keys and not self._can_be_met(each):
                return False
        return True

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
        if keys_of(composite).isdisjoint(self.keys):
            return None
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
        if keys_of(composite).isdisjoint(self.keys) or (self._open is not None and composite in self._open):
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
        if self._open is NONE_OPEN:
            self._open = {composite}
        elif self._open is not None:
            self._open.add(composite)
        return None


def _same(left: Any, right: Any) -> bool | None:
    """Equality of two constants; None where one of them is itself an unknown."""
    if left == right:
        return True
    return False if isinstance(left, _CONSTANT) and isinstance(right, _CONSTANT) else None


def asks_large(formula: Formula) -> bool:
    """Does it ask, among other things, what was too large to be compared?"""
    return any(map(is_large, atoms(formula)))
