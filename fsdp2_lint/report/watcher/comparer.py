"""Compares what the ranks of a node issue, many times in a second: silent mix-ups last as long as nobody sees them."""

from __future__ import annotations

from collections.abc import Sequence

from ...catalogue.registry import Selection
from ...vocab.facts import Fact
from ...vocab.rule import Rule
from ..agreement import Agreement
from ..codec import fact_as_json
from ..findings import disagreements
from .node import Node
from .speaker import say


class Comparer:
    """What it finds goes beside the reports of the ranks, for the end of the job, and to stderr at once."""

    def __init__(self, rules: Sequence[Rule], selection: Selection) -> None:
        self._rules, self._selection = rules, selection
        self._agreement = Agreement()
        self._told: set[tuple[str, str, int]] = set()

    def meet(self, node: Node, now: float) -> None:
        self._agreement.meet(node.folder.parent / f"{name}.jsonl" for name in node.ranks)

    def look(self, node: Node, now: float) -> None:
        if found := self._agreement.look():
            self._write(node, found)
            for _, finding in disagreements(found, self._rules)[0]:
                if self._selection.shows(finding) and finding.key not in self._told:
                    self._told.add(finding.key)
                    say(finding)

    def _write(self, node: Node, found: list[tuple[int, Fact]]) -> None:
        by_rank = {each.beat.get("rank"): each for each in node.ranks.values()}
        for rank, fact in found:
            if rank in by_rank:
                by_rank[rank].write("fact", **fact_as_json(fact))
