"""What somebody works on: the programs that came to a file are followed first, and what is found is told at once.

A finding stands whatever comes of the other programs. That something is *not* found is told by the whole run alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ..vocab.finding import Finding
from ..vocab.overlaps import Programs, one_for_each_cause, without_consequences
from ..vocab.rule import Verdict
from .verdicts import findings_of


@dataclass(frozen=True, slots=True)
class Ahead:
    """``path`` is the file; ``tell`` gets what is found so far, and the contents of the files that were read."""

    path: str
    tell: Callable[[list[Finding], Mapping[str, bytes]], None]


def so_far(verdicts: Collection[Verdict], found_in: Programs) -> list[Finding]:
    """What some programs say; another one may still show that a finding is the consequence of another."""
    found: Sequence[Finding] = without_consequences(findings_of(verdicts), found_in)
    return [replace(each, cause=None) for each in one_for_each_cause(found)]
