"""Three-valued answers that cannot be guessed at by accident, and that carry what they rest on.

A yes carries its evidence and a no what closed the world: a *closure*, which only one place of each analysis can
make (``static/checks/shared/closure.py``, ``runtime/closure.py``). A rule reads two-valued (``if unit.gathered():``),
but asking an unknown answer for its truth raises :class:`CannotTell`. The dispatcher turns that into the verdict
*unknown*, so a finding can only rest on proof, also through ``not``; and it writes down which answers a rule used
(:func:`listening`), so *upheld* follows from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, NoReturn, TypeVar, final

T = TypeVar("T", covariant=True)
S = TypeVar("S")


class CannotTell(Exception):
    """The analysis does not know; ``str(exc)`` is the reason, in words for the user."""


class Truth(Enum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@final
@dataclass(frozen=True, slots=True)
class Closed:
    """Why nothing else can be the case.

    ``followed``: all of what kind there is (("sharding call", 5): all five were followed); ``fact``: what was seen that
    excludes it, in words. One of the two is enough.
    """

    followed: tuple[tuple[str, int], ...] = ()
    fact: str = ""

    def __post_init__(self) -> None:
        if not self.followed and not self.fact:
            raise ValueError("a closure says what closes the world")


@dataclass(slots=True)
class Used:
    """What somebody who asked rests on: closures and evidence, and why a listing that was gone through may go on."""

    closures: dict[Closed, None] = field(default_factory=dict)
    evidence: list[Any] = field(default_factory=list)
    incomplete: dict[str, None] = field(default_factory=dict)


_listener: ContextVar[Used | None] = ContextVar("listener", default=None)


@contextmanager
def listening() -> Iterator[Used]:
    """Notes each answer whose truth is asked for inside."""
    used = Used()
    token = _listener.set(used)
    try:
        yield used
    finally:
        _listener.reset(token)


class Answer(Generic[T]):
    """Yes, no or unknown: one of :class:`Yes`, :class:`No` and :class:`Unknown`."""

    __slots__ = ()
    truth: Truth

    def __bool__(self) -> bool:
        raise NotImplementedError

    @property
    def what(self) -> T:
        """The evidence of a yes."""
        raise AttributeError(f"{self!r} carries no evidence")

    @property
    def why(self) -> str:
        """The reason of an unknown; empty for the others."""
        return ""

    def denied(self) -> No | Unknown:
        """The same answer, which must be no yes: what a question that rests on this one can pass on."""
        if isinstance(self, (No, Unknown)):
            return self
        raise ValueError(f"{self!r} is a yes")

    @property
    def surely(self) -> bool:
        """Is it a yes? To tell an unknown from a no, for the words of a finding or for more questions."""
        return self.truth is Truth.YES

    @property
    def possibly(self) -> bool:
        return self.truth is not Truth.NO

    def __and__(self, other: Answer[S]) -> Answer[T] | Answer[S]:
        return _first_of(Truth.NO, self, other)

    def __or__(self, other: Answer[S]) -> Answer[T] | Answer[S]:
        return _first_of(Truth.YES, self, other)


@final
@dataclass(frozen=True, slots=True)
class Yes(Answer[T]):
    evidence: T
    truth = Truth.YES

    def __bool__(self) -> bool:
        if (used := _listener.get()) is not None:
            used.evidence.append(self.evidence)
        return True

    @property
    def what(self) -> T:
        return self.evidence


@final
@dataclass(frozen=True, slots=True)
class No(Answer[NoReturn]):
    closed: Closed
    truth = Truth.NO

    def __bool__(self) -> bool:
        if (used := _listener.get()) is not None:
            used.closures[self.closed] = None
        return False


@final
@dataclass(frozen=True, slots=True)
class Unknown(Answer[NoReturn]):
    reason: str
    truth = Truth.UNKNOWN

    def __bool__(self) -> bool:
        raise CannotTell(self.reason)

    @property
    def why(self) -> str:
        return self.reason


def _first_of(deciding: Truth, left: Answer[T], right: Answer[S]) -> Answer[T] | Answer[S]:
    """Kleene: one deciding side settles it, else one unknown side keeps it open. Two that agree rest on both."""
    for truth in (deciding, Truth.UNKNOWN):
        for side in (left, right):
            if side.truth is truth:
                return side
    if isinstance(left, No) and isinstance(right, No):
        return No(_both(left.closed, right.closed))
    return left


def _both(one: Closed, other: Closed) -> Closed:
    facts = dict.fromkeys(each.fact for each in (one, other) if each.fact)
    return Closed(tuple(dict.fromkeys((*one.followed, *other.followed))), "; ".join(facts))


def yes(evidence: S) -> Yes[S]:
    return Yes(evidence)


def no(closed: Closed) -> No:
    return No(closed)


def unknown(reason: str) -> Unknown:
    return Unknown(reason)


@dataclass(frozen=True, slots=True)
class Many(Generic[T]):
    """Proven items; and either what makes this all of them, or why there may be more.

    Iterating is always safe (each item is proven; ``list()`` first asks for the number, so
    use ``items``). Emptiness and number are claims of absence, so they raise
    :class:`CannotTell` while the listing is incomplete.
    """

    items: tuple[T, ...]
    closed: Closed | None
    incomplete: str = ""

    def __iter__(self) -> Iterator[T]:
        self._note()
        return iter(self.items)

    def __len__(self) -> int:
        if self.closed is None:
            raise CannotTell(self.incomplete)
        self._note()
        return len(self.items)

    def __bool__(self) -> bool:
        return True if self.items else bool(len(self))

    def _note(self) -> None:
        used = _listener.get()
        if used is None:
            return
        if self.closed is not None:
            used.closures[self.closed] = None
        else:
            used.incomplete[self.incomplete] = None


def many(items: Iterable[S], end: Answer[object]) -> Many[S]:
    """``end`` says whether these are all: a no (there are no more) closes the listing, an unknown leaves it open."""
    if isinstance(end, No):
        return Many(tuple(items), end.closed)
    return Many(tuple(items), None, end.why or "nobody said that these are all")


def in_words(closures: Iterable[Closed]) -> str:
    """Closures as one reason: "all 5 sharding calls and both optimizers were followed; an optimizer trains it"."""
    closures = list(closures)
    counts = dict(pair for closed in closures for pair in closed.followed)
    seen = [_counted(kind, count) for kind, count in counts.items() if count]
    absent = [kind for kind, count in counts.items() if not count]
    said: dict[str, None] = {}
    if seen:
        said[f"{_listed(seen, 'and')} {'was' if sum(counts.values()) == 1 else 'were'} followed"] = None
    if absent:
        said[f"no {_listed(absent, 'or')} was met"] = None
    said.update((closed.fact, None) for closed in closures if closed.fact)
    return "; ".join(said)


def _counted(kind: str, count: int) -> str:
    if count == 1:
        return f"the only {kind}"
    return f"both {_plural(kind)}" if count == 2 else f"all {count} {_plural(kind)}"


def _plural(kind: str) -> str:
    """Of a noun, or of one with words behind it: "switches of gradient synchronisation"."""
    noun, *rest = kind.split(" ", 1) if re.search(r" (of|to|in|on) ", kind) else [kind]
    return " ".join([f"{noun}{'es' if noun.endswith(('s', 'sh', 'ch')) else 's'}", *rest])


def _listed(parts: list[str], word: str) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"
