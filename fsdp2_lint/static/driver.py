"""Has the programs of a project followed, and puts together what comes of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection

from ..errors import CostsOnly
from ..vocab.events.base import Event
from ..vocab.finding import listed
from ..vocab.rule import Dispatcher, ProgramKey, Verdict
from .ahead import Ahead, so_far
from .cache.programs import Programs
from .checks import seen_in_text
from .course import Course
from .entries import Entry, Plan, find_entries
from .following import Followed
from .frontend.project import Project
from .result import Request, Result
from .seen import Extent
from .workers import Workers


class Driver:
    """Fills ``result``. What is found in one program depends on its files alone: no other's steps count, and no clock.

    Only which parts are followed, that no script comes to, depends on what the programs before came to.
    """

    def __init__(
        self,
        project: Project,
        request: Request,
        result: Result,
        *,
        keep_traces: bool,
        kept: Programs,
        jobs: int = 1,
        progress: Callable[[str], None] | None = None,
        ahead: Ahead | None = None,
    ) -> None:
        self.project, self.request, self.result = project, request, result
        self.progress, self.ahead = progress, ahead
        self.dispatcher = Dispatcher(request.rules)
        self.workers = Workers(project, request.rules, kept, jobs, keep_traces=keep_traces, progress=self.progress)
        self.found_in: dict[tuple[str, str, int], set[str]] = {}  # each finding's programs
        self.extents: dict[ProgramKey, Extent] = {}  # how far each program was followed
        self.cut_off: set[ProgramKey] = set()  # those that were not followed to their end

    def run(self) -> None:
        if self.progress is not None:
            self.progress("looking for programs")
        plan = find_entries(self.project, frozenset(self.request.explicit))
        self.dispatch_text(plan)
        self.result.notes.extend(f"entry-points: {name} was not found" for name in plan.absent)
        if self.ahead is not None:
            with CostsOnly("the first findings", self.project.note):
                self.go_ahead(self.ahead, Course(plan, self.request.budget))
        course = Course(plan, self.request.budget)
        for entry, limits in course.steps():
            self.project.look()
            followed = self.workers.follow(entry, limits, lambda: Course(plan, self.request.budget))
            course.reached |= followed.reached
            self.take(entry, followed)
        self.result.notes += self.workers.notes
        self.say_left_out(course)

    def go_ahead(self, ahead: Ahead, course: Course) -> None:
        """What is followed here is not followed again; each time all is told that was found so far."""
        total, found_in = Dispatcher(self.request.rules), dict[tuple[str, str, int], set[str]]()
        add(total, self.dispatcher.verdicts.values())
        for entry, limits in self.workers.outdated(course, ahead.path):
            for key in add(total, self.workers.see(entry, limits).verdicts):
                found_in.setdefault(key, set()).add(entry.name)
            ahead.tell(so_far(total.verdicts.values(), found_in), self.project.texts)

    def say_left_out(self, course: Course) -> None:
        """Programs that the table of budgets keeps from being run: not one of them is left out in silence."""
        if course.beyond:
            most = self.request.budget.programs
            self.result.out_of_budget.append(f"{listed(course.beyond)}: beyond the first {most} programs")
        if alike := course.plan.left_out(course.reached):
            self.result.out_of_budget.append(f"{listed(alike)}: too many call or inherit the same sharding code")

    def dispatch_text(self, plan: Plan) -> None:
        """What is seen in the files' text alone."""
        for event in seen_in_text(self.project, plan.seeds, self.dispatcher):
            self.dispatch_of_file(event)

    def dispatch_of_file(self, event: Event) -> None:
        self.dispatcher.program = ProgramKey("file", event.at.path, os.path.basename(event.at.path))
        self.dispatcher.dispatch(event)

    def take(self, entry: Entry, followed: Followed) -> None:
        """What one program gave, to what all gave."""
        result = self.result
        for key in add(self.dispatcher, followed.verdicts):
            self.found_in.setdefault(key, set()).add(entry.name)
        self.extents[entry.key] = followed.extent
        if followed.out_of_budget or followed.broken:
            self.cut_off.add(entry.key)
        result.programs += 1
        result.cut += bool(followed.out_of_budget)
        result.out_of_budget += followed.out_of_budget
        result.traces += followed.traces
        result.repeatable = result.repeatable and followed.repeatable
        self.project.broken += followed.broken


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
