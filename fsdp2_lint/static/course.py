"""In which order the programs of a plan are followed, and how far each."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import CostsOnly
from .budget import Budget
from .entries import Entry, Plan, Where
from .following import Limits


class Course:
    """Scripts come first, then what nothing came to so far: whoever follows them adds what each came to."""

    def __init__(self, plan: Plan, budget: Budget) -> None:
        self.plan, self.budget = plan, budget
        self.reached: set[Where] = set()
        self.beyond: list[str] = []  # programs that come after as many as are followed
        self._programs = 0
        self._shared: dict[bool, list[set[str]]] = {True: [], False: []}  # of scripts and of parts: see ``_is_near``

    def steps(self) -> Iterator[tuple[Entry, Limits]]:
        plan = self.plan
        for entry in (*plan.stated, *plan.scripts):
            self.reached.add(entry.where)
            yield from self._step(entry)
        for entries in (plan.callers(self.reached), plan.untouched(self.reached)):
            with CostsOnly("the search for what no script calls", plan.project.note):
                for entry in entries:
                    if entry.where not in self.reached:
                        self.reached.add(entry.where)
                        yield from self._step(entry)

    def _step(self, entry: Entry) -> Iterator[tuple[Entry, Limits]]:
        self._programs += 1
        if self._programs > self.budget.programs:
            self.beyond.append(entry.name)
            return
        near = self._is_near(entry)
        yield entry, Limits(self.budget.steps(entry.kind, near=near), self.budget.unsharded(entry.kind, near=near))

    def _is_near(self, entry: Entry) -> bool:
        """Is it among the first programs of its kind that share its sharding code? All others never count."""
        shares = self.plan.shares.get(entry.path, set())
        alike = self._shared[entry.kind == "script"]
        before = sum(1 for other in alike if not shares.isdisjoint(other))
        alike.append(shares)
        return before < self.budget.near or entry in self.plan.stated
