"""The static analysis's front door: files in, findings and verdicts out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import CostsOnly
from ..files.syntax import Problem
from ..vocab.overlaps import one_for_each_cause, without_consequences
from ..vocab.rule import Rule
from . import garbage
from .ahead import Ahead
from .cache.facts import remembered_facts
from .cache.programs import Programs
from .cache.store import Store
from .driver import Driver
from .frontend.pins import PINS
from .frontend.project import Project
from .frontend.trees import Trees
from .result import Request, Rests, Result
from .room import with_room
from .seen import Sight
from .verdicts import findings_of, of_models, of_programs


def check(
    request: Request,
    *,
    store: Store | None = None,
    jobs: int = 1,
    dump_trace: bool = False,
    progress: Callable[[str], None] | None = None,
    look: Callable[[], None] | None = None,
    ahead: Ahead | None = None,
    trees: Trees | None = None,
) -> Result:
    """Analyse the files of a request as one project. Nothing in them is imported or executed.

    ``store`` has what was seen of programs before. ``jobs`` is how many processes may follow programs at once,
    which changes nothing in the answer. ``progress`` is told each program that is followed. ``look`` is called every
    few hundred steps, and with each file that is read: what it raises, if it is no Exception, ends the run. ``ahead``
    is told what is found in the programs that come to one file, before the others are followed.
    ``trees`` has files that were parsed before.
    ``dump_trace`` keeps what was seen in each program, as text.
    """
    result = Result(files=len(request.files))
    project = Project(Path(request.root), dict(request.overlay), [Path(each) for each in request.source_roots])
    project.take(sorted(set(request.files)), request.within)
    project.target = request.target
    project.entry_points = list(request.entry_points)
    project.look = look or project.look
    project.trees = trees

    def work() -> None:
        with garbage.by_hand():
            kept = Programs(store, request, project)
            driver = Driver(
                project,
                request,
                result,
                keep_traces=dump_trace,
                kept=kept,
                jobs=jobs,
                progress=progress,
                ahead=ahead,
            )
            with remembered_facts(store, project):
                _check(result, project, driver, request.rules)

    with_room(work)
    result.texts = project.texts
    result.rests = _rests(project)
    return result


def _check(result: Result, project: Project, driver: Driver, rules: Sequence[Rule]) -> None:
    """Follow and judge all programs; the result says what was not seen."""
    dispatcher = driver.dispatcher
    driver.run()
    with CostsOnly("what causes what", project.note):
        result.findings = findings_of(dispatcher.verdicts.values())
        result.findings = without_consequences(result.findings, driver.found_in)
    with CostsOnly("what was seen", project.note):
        torch = rules[0].target if rules else None
        sight = Sight(dispatcher.verdicts.values(), driver.extents, project.unreadable, project.ast, torch)
        result.seen = list(sight.found.values())
        result.findings = [replace(each, about=sight.about(each)) for each in result.findings]
    with CostsOnly("what one edit would fix", project.note):
        result.findings = [replace(each, cause=None) for each in one_for_each_cause(result.findings)]
    with CostsOnly("the verdicts of the models", project.note):
        judged_by = {rule.code: rule.judged_by for rule in rules}
        result.models = of_models(dispatcher, judged_by)
        result.followed = of_programs(dispatcher, driver.extents, driver.cut_off, judged_by)
    result.problems = [
        Problem(path, each.row, each.column, each.reason, each.needs)
        for path, each in sorted(project.unreadable.items())
    ]
    result.broken = [
        *((code, f"{type(error).__name__}: {error}") for code, error in dispatcher.broken),
        *project.broken,
    ]


def _rests(project: Project) -> Rests:
    reads = project.reads.all()
    others = sorted(reads.files.difference(project.files))
    pins = {asked: project.answer(asked) for asked in sorted(reads.asked) if asked[0] in PINS}
    return Rests({path: project.digest(path) for path in others}, reads.imports, pins)
