"""Small pieces of wording that several clauses share."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN = 3


def listed(names: Sequence[str]) -> str:
    """``a, b, c and 9 more``."""
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
