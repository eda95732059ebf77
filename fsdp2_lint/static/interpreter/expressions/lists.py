"""Calculation with lists."""

from __future__ import annotations

from dataclasses import replace

from ...budget import BUDGET
from ...domain.store import Items
from ...domain.values import Bound, ClassV, Const, Func, Partial


def repeated(held: Items, times: Const) -> Items | None:
    """``[width] * depth``: the same things a few times; None where these are many."""
    few = isinstance(times.value, int) and times.value * len(held.items) <= BUDGET.options
    return replace(held, items=held.items * times.value) if few else None


def repeated_often(held: Items) -> Items | None:
    """``[quiet] * (n - 1)``: code that is called as often as a number says that is not known; None for other things,
    which may be replaced one by one."""
    code = bool(held.items) and all(isinstance(item, (Bound, ClassV, Func, Partial)) for _, item in held.items)
    return replace(held, exact=False) if code else None
