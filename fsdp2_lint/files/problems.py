"""Files that could not be analysed."""

from __future__ import annotations

from dataclasses import dataclass

from fsdp2_lint.vocab.target import Version


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that could not be analysed."""

    path: str
    row: int
    column: int
    message: str
    needs: Version | None = None  # the Python that can read it, where this one cannot
