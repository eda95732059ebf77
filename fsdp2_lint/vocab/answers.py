"""Three-valued answers that cannot be guessed at by accident.

A rule reads two-valued (``if unit.gathered():``), but asking an unknown answer
for its truth raises :class:`CannotTell`. The court turns that into the verdict
*unknown*, so a finding can only rest on proof, also through ``not``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class CannotTell(Exception):
    """The witness does not know; ``str(exc)`` is the reason, in words for the user."""


class Truth(Enum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Answer:
    """Yes, no or unknown. ``what`` carries the proof, ``why`` the reason for unknown."""

    truth: Truth
    what: Any = None
    why: str = ""

    def __bool__(self) -> bool:
        if self.truth is Truth.UNKNOWN:
            raise CannotTell(self.why)
        return self.truth is Truth.YES

    @property
    def surely(self) -> bool:
        return self.truth is Truth.YES

    @property
    def possibly(self) -> bool:
        return self.truth is not Truth.NO

    def __and__(self, other: Answer) -> Answer:
        return _first_of(Truth.NO, self, other, otherwise=Truth.YES)

    def __or__(self, other: Answer) -> Answer:
        return _first_of(Truth.YES, self, other, otherwise=Truth.NO)

    def __invert__(self) -> Answer:
        flipped = {Truth.YES: Truth.NO, Truth.NO: Truth.YES}.get(self.truth, Truth.UNKNOWN)
        return Answer(flipped, self.what, self.why)


def _first_of(deciding: Truth, left: Answer, right: Answer, *, otherwise: Truth) -> Answer:
    """Kleene: one deciding side settles it, else one unknown side keeps it open."""
    for truth in (deciding, Truth.UNKNOWN, otherwise):
        for side in (left, right):
            if side.truth is truth:
                return side
    raise AssertionError("an answer has one of three truths")


def yes(what: Any = True) -> Answer:
    return Answer(Truth.YES, what)


def no(what: Any = None) -> Answer:
    return Answer(Truth.NO, what)


def unknown(why: str) -> Answer:
    return Answer(Truth.UNKNOWN, why=why)


@dataclass(frozen=True, slots=True)
class Many(Generic[T]):
    """Proven items, and ``open_why`` if there may be more that the witness did not see.

    Iterating is always safe (each item is proven; ``list()`` first asks for the number, so
    use ``items``). Emptiness and number are claims of absence, so they raise
    :class:`CannotTell` while the listing is open.
    """

    items: tuple[T, ...] = ()
    open_why: str = ""

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        if self.open_why:
            raise CannotTell(self.open_why)
        return len(self.items)

    def __bool__(self) -> bool:
        return True if self.items else bool(len(self))


def many(items: Iterable[T], open_why: str = "") -> Many[T]:
    return Many(tuple(items), open_why)
