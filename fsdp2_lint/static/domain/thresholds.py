"""Comparisons of one unknown with numbers: ``stage >= 2`` says that ``stage > 0``, and that it is not 1."""

from __future__ import annotations

from math import inf
from typing import Any

from ...vocab.declared import record

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}  # ``0 < stage`` is ``stage > 0``
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@record
class Range:
    """Between which numbers an unknown lies; an open end is not one of them."""

    low: float = -inf
    low_open: bool = False
    high: float = inf
    high_open: bool = False

    def narrowed(self, op: str, number: float, truth: bool) -> Range:
        """What is left of it where the unknown is (not) ``op`` the number."""
        op = op if truth else _OPPOSITE[op]
        open_end = op in ("<", ">")
        if op in ("<", "<="):
            tighter = (number, not open_end) < (self.high, not self.high_open)
            return Range(self.low, self.low_open, number, open_end) if tighter else self
        tighter = (number, open_end) > (self.low, self.low_open)
        return Range(number, open_end, self.high, self.high_open) if tighter else self

    def decides(self, op: str, number: float) -> bool | None:
        """Is each number in it ``op`` this one, or none of them?"""
        open_end = op in ("<", ">")
        if op in (">", ">="):
            if (self.low, self.low_open) >= (number, open_end):
                return True
            return False if (self.high, not self.high_open) <= (number, open_end) else None
        if (self.high, not self.high_open) <= (number, not open_end):
            return True
        return False if (self.low, self.low_open) >= (number, not open_end) else None

    def holds(self, number: float) -> bool:
        above = number > self.low or number == self.low and not self.low_open
        return above and (number < self.high or number == self.high and not self.high_open)


ANY = Range()


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def exactly(number: float) -> Range:
    return Range(number, False, number, False)
