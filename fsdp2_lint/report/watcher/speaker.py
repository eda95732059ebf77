"""Says on stderr, while a job hangs, which rank the others wait for."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from ...catalogue import registry
from ...catalogue.registry import Selection
from ...vocab.finding import Finding
from ...vocab.rule import Rule
from ..job import read_job
from ..outcome import JobReport
from ..view import view
from .node import Node

FIRST, LONGEST = 0.5, 60.0  # seconds between two comparisons: the others may not have written yet, or never will


def line_of(finding: Finding) -> str:
    site = finding.primary.site
    return f"fsdp2-lint: {site}: {finding.code} {finding.severity.value} {finding.message} [{finding.name}]"


def say(finding: Finding) -> None:
    """One line for a finding, and one for each place that explains it."""
    lines = [line_of(finding), *(f"  {label.site}: {label.message}" for label in finding.related)]
    print("\n".join(lines), file=sys.stderr, flush=True)


class Speaker:
    """Speaks on the node of rank 0 only. Each stall is told once, and also that it is over."""

    def __init__(self, folder: Path, rules: Sequence[Rule], selection: Selection) -> None:
        self._folder, self._rules, self._selection = folder, rules, selection
        self._of_order = {rule.code for rule in rules if rule.compares in ("stall", "turn")}
        self._standing: frozenset[tuple[str, float]] = frozenset()
        self._due, self._pause = 0.0, FIRST
        self._told: set[tuple[str, str, int]] = set()
        self._paused: set[str] = set()

    def look(self, node: Node, now: float) -> None:
        if not any(rank.beat.get("rank") == 0 for rank in node.ranks.values()):
            return
        standing = frozenset(self._still(node))
        if standing - self._standing:
            self._due, self._pause = now, FIRST
        if self._standing and not standing and self._told:
            with suppress(OSError):
                self._tell_pauses()
        self._standing = standing
        if standing and now >= self._due:
            with suppress(OSError):  # the folder is gone, or nobody has written yet
                self._compare()
            self._due, self._pause = now + self._pause, min(2 * self._pause, LONGEST)

    def _still(self, node: Node) -> Iterable[tuple[str, float]]:
        for name, rank in node.ranks.items():
            if rank.how or (rank.beat and rank.beat["state"] == "still"):
                yield f"{name} {rank.how}", rank.beat["since"]

    def _compare(self) -> None:
        report = self._read()
        for finding in view(report, self._selection).findings:
            if finding.code in self._of_order and finding.key not in self._told | report.said:
                self._told.add(finding.key)
                say(finding)

    def _tell_pauses(self) -> None:
        """What was told is over; should it come again, it is told again."""
        self._told.clear()
        for text in self._read().pauses:
            if text not in self._paused:
                self._paused.add(text)
                print(f"fsdp2-lint: {text}", file=sys.stderr, flush=True)

    def _read(self) -> JobReport:
        return read_job(self._folder, registry.rules())
