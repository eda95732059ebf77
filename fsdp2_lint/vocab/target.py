"""Which torch a checked program runs on: the clauses speak for that version."""

from __future__ import annotations

Version = tuple[int, int]
"""Major and minor, such as ``(2, 13)``."""

NEWEST: Version = (2, 15)


def in_words(version: Version) -> str:
    """``torch 2.13``."""
    return f"torch {version[0]}.{version[1]}"
