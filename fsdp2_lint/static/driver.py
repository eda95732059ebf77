"""Runs the programs of a project one by one, and puts together what comes of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from functools import partial

from ..errors import CostsOnly
from ..vocab.events.base import Event
from ..vocab.rule import Dispatcher, ProgramKey, Verdict
from ..vocab.words import listed
from .cache.programs import Programs
from .checks import seen_in_text
from .entries import Entry, Plan, Where, find_entries
from .following import Followed, Limits, follow
from .frontend.project import Project
from .garbage import Garbage
from .request import Request
from .seen import Extent


class Driver:
    """What is found in one program depends on its files alone: no other program's steps are counted, and no clock.

    Only which parts are run, that no script comes to, depends on what the programs before came to.
    """

    def __init__(
        self,
        project: Project,
        request: Request,
        *,
        keep_traces: bool,
        kept: Programs,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.project = project
        self.progress = progress
        self.rules, self.budget = request.rules, request.budget
        self.dispatcher = Dispatcher(request.rules)
        self.explicit = frozenset(request.explicit)
        self.keep_traces = keep_traces
        self.kept = kept
        self.reached: set[Where] = set()
        self.programs = 0
        self.shared: dict[bool, list[set[str]]] = {True: [], False: []}  # of scripts and of parts: see ``is_near``
        self.beyond: list[str] = []  # programs that come after as many as are run
        self.repeatable = True  # would another run say the same?
        self.garbage = Garbage()
        self.out_of_budget: list[str] = []
        self.notes: list[str] = []
        self.broken = project.broken
        self.traces: list[str] = []
        self.found_in: dict[tuple[str, str, int], set[str]] = {}  # each finding's programs
        self.extents: dict[ProgramKey, Extent] = {}  # how far each program was followed

    def run(self) -> None:
        plan = self.plan = find_entries(self.project, self.explicit)
        self.hear_text(plan)
        self.notes.extend(f"entry-points: {name} was not found" for name in plan.absent)
        for entry in (*plan.stated, *plan.scripts):
            self.reached.add(entry.where)
            self.run_entry(entry)
        for entries in (plan.callers(self.reached), plan.untouched(self.reached)):
            with CostsOnly("the search for what no script calls", self.project.note):
                self.run_unreached(entries)
        self.say_left_out(plan)

    def say_left_out(self, plan: Plan) -> None:
        """Programs that the table of budgets keeps from being run: not one of them is left out in silence."""
        if self.beyond:
            self.out_of_budget.append(f"{listed(self.beyond)}: beyond the first {self.budget.programs} programs")
        if alike := plan.left_out(self.reached):
            self.out_of_budget.append(f"{listed(alike)}: too many call or inherit the same sharding code")

    def hear_text(self, plan: Plan) -> None:
        """What is seen in the files' text alone."""
        for event in seen_in_text(self.project, plan.seeds, self.dispatcher):
            self.hear_of_file(event)

    def hear_of_file(self, event: Event) -> None:
        self.dispatcher.program = ProgramKey("file", event.at.path, os.path.basename(event.at.path))
        self.dispatcher.dispatch(event)

    def run_unreached(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            if entry.where not in self.reached:
                self.reached.add(entry.where)
                self.run_entry(entry)

    def run_entry(self, entry: Entry) -> None:
        self.programs += 1
        if self.programs > self.budget.programs:
            self.beyond.append(entry.name)
            return
        if self.progress is not None:
            self.progress(entry.name)
        self.garbage.collect()
        near = self.is_near(entry)
        limits = Limits(self.budget.steps(entry.kind, near=near), self.budget.unsharded(entry.kind, near=near))
        work = partial(follow, self.project, self.rules, entry, limits, keep_trace=self.keep_traces)
        self.take(entry, self.kept.remembered(entry, limits, work))

    def take(self, entry: Entry, followed: Followed) -> None:
        """What one program gave, to what all gave."""
        for key in add(self.dispatcher, followed.verdicts):
            self.found_in.setdefault(key, set()).add(entry.name)
        self.extents[entry.key] = followed.extent
        self.reached |= followed.reached
        self.out_of_budget += followed.out_of_budget
        self.broken += followed.broken
        self.traces += followed.traces
        self.repeatable = self.repeatable and followed.repeatable
        self.garbage.made(followed.steps)

    def is_near(self, entry: Entry) -> bool:
        """Is it among the first programs of its kind that share its sharding code? All others never count."""
        shares = self.plan.shares.get(entry.path, set())
        alike = self.shared[entry.kind == "script"]
        before = sum(1 for other in alike if not shares.isdisjoint(other))
        alike.append(shares)
        return before < self.budget.near or entry in self.plan.stated


def add(total: Dispatcher, part: Collection[Verdict]) -> set[tuple[str, str, int]]:
    """What one program gave, to what all gave; the keys of its findings."""
    for verdict in part:
        known = total.verdicts.setdefault((verdict.code, verdict.subject), Verdict(verdict.code, verdict.subject))
        known.findings += (finding for finding in verdict.findings if finding not in known.findings)
        known.judged.update(verdict.judged)
        known.programs.update(verdict.programs)
        if verdict.through is not None:
            known.comes_by(verdict.through)
        known.unknown.update({why: site for why, site in verdict.unknown.items() if why not in known.unknown})
    return {finding.key for verdict in part for finding in verdict.findings}
