"""Calculation with lists."""

from __future__ import annotations

from dataclasses import replace

from ...budget import BUDGET
from ...domain.store import Items
from ...domain.values import Const


def repeated(held: Items, times: Const) -> Items | None:
    """``[width] * depth``: the same things a few times; None where these are many."""
    few = isinstance(times.value, int) and times.value * len(held.items) <= BUDGET.options
    return replace(held, items=held.items * times.value) if few else None
