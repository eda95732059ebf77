"""Findings of several ranks: those that they made, put together, and those that come of comparing what they said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..vocab.facts import Fact
from ..vocab.finding import Finding, Observed, Severity
from ..vocab.overlaps import without_consequences
from ..vocab.rule import Rule, agree
from .statements import Voice, side_by_side, voices_of

_MILD_FIRST = (Severity.INFO, Severity.WARNING, Severity.ERROR)
Compared = tuple[list[tuple[int, Finding]], list[tuple[str, Exception]]]


def merge(findings: Iterable[tuple[int, Finding]]) -> list[Finding]:
    """One finding for one code on one line, with all ranks that saw it.

    Where ranks weigh it differently the milder one counts: it rests on more knowledge, as with a
    file whose name only the higher ranks can tell to be their own.
    """
    by_key: dict[tuple[str, str, int], list[tuple[Finding, Observed]]] = {}
    for rank, finding in findings:
        by_key.setdefault(finding.key, []).append((finding, finding.observed or Observed((rank,))))
    merged = [_one_of(several) for several in by_key.values()]
    found = without_consequences(merged, {key: {"job"} for key in by_key})
    return sorted(found, key=lambda each: (each.primary.site, each.code))


def _one_of(several: Sequence[tuple[Finding, Observed]]) -> Finding:
    milder = min((finding for finding, _ in several), key=lambda each: _MILD_FIRST.index(each.severity))
    ranks = tuple(sorted({rank for _, seen in several for rank in seen.ranks}))
    step = min((seen.step for _, seen in several if seen.step is not None), default=None)
    fqn = next((seen.fqn for _, seen in several if seen.fqn), "")
    return replace(milder, observed=Observed(ranks, step, fqn))


def disagreements(facts: Iterable[tuple[int, Fact]], rules: Sequence[Rule]) -> Compared:
    """Compare what the ranks said. What a rank said of one thing in several facts is put together first."""
    return compare(voices_of(facts), rules)


def compare(voices: Iterable[Voice], rules: Sequence[Rule]) -> Compared:
    found: list[tuple[int, Finding]] = []
    broken: list[tuple[str, Exception]] = []
    for said in side_by_side(voices):
        findings, broke = agree(rules, said)
        broken.extend(broke)
        if findings:
            ranks = tuple(sorted(said))
            step = min((fact.step for fact in said.values() if fact.step is not None), default=None)
            found.extend((ranks[0], replace(each, observed=Observed(ranks, step))) for each in findings)
    return found, broken
