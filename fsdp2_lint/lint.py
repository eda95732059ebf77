"""One run: files in, findings out. The command line, the servers and the tests call this."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from fsdp2_lint.around import Around, around, concerns, parted, placed, without_tests
from fsdp2_lint.errors import INTERNAL, CostsOnly, NothingToCheck
from fsdp2_lint.files import syntax
from fsdp2_lint.files.discovery import Discovered, common_folder, discover, project_at, project_root
from fsdp2_lint.files.patterns import EXCLUDE, GITIGNORE, Exclusion
from fsdp2_lint.files.source import Sources, display_path
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.fingerprints import base_of, by_place, with_fingerprints
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.settings import Settings, file_of, settings

if TYPE_CHECKING:
    from fsdp2_lint.static.frontend.trees import Trees
    from fsdp2_lint.static.result import Result
    from fsdp2_lint.vocab.finding import Finding


@dataclass(frozen=True, slots=True)
class Early:
    """``tell`` gets what is found so far in the programs that come to the file at ``path``, before all are followed.

    Such a report has findings and no verdicts, and says nothing of what it does not have.
    """

    path: str
    tell: Callable[[Report], None]


def found_files(
    paths: Sequence[str], asked: Asked, overlay: Mapping[str, bytes] | None = None
) -> tuple[Discovered, Settings]:
    """The files that a run would check, and the settings that hold for them. That nothing can be is a Refusal."""
    given = asked.settings if asked.settings is not None else settings(common_folder(paths))
    given.check_paths(overlay or {})
    words: set[str] = set()
    if asked.says_what(given) or asked.extend_select or asked.ignore or given.extend_select:
        chosen, _ = asked.selection(given)  # a misspelt code is an error even where there is nothing to find
        words.update(word for rule in chosen for word in rule.words)
    found = discover(
        paths,
        root=project_root(paths),
        overlay=overlay,
        words=sorted(words),
        exclusion=Exclusion(str(given.path(".")), given.exclude, gitignore=given.respect_gitignore),
        force_exclude=asked.force_exclude,
        confined=asked.confined,
    )
    if not found.files and not found.errors and not asked.force_exclude and EXCLUDE not in found.skipped:
        but = f" but for what {GITIGNORE} leaves out" if found.skipped else ""
        raise NothingToCheck(f"no Python files in {', '.join(paths)}{but}")
    return found, given


def lint(
    paths: Sequence[str],
    asked: Asked = Asked(),
    *,
    overlay: Mapping[str, bytes] | None = None,
    progress: Callable[[str], None] | None = None,
    look: Callable[[], None] | None = None,
    early: Early | None = None,
    trees: Trees | None = None,
) -> Report:
    """Check ``paths``. What cannot be done as asked raises a Refusal.

    ``overlay`` holds what files contain in place of what is on disk, by absolute path without links. ``progress`` is
    told each program that is followed, and not what an earlier run has kept. ``look`` is called again and again, and
    ends the run if it raises what is no Exception. ``early`` is told of one file before all programs are followed.
    ``trees`` keeps parsed files for the next run of the same process.
    """
    found, given = found_files(paths, asked, overlay)
    report = Report(files=found.files, candidates=found.users, settings=given)
    report.skipped = [] if found.files else sorted(found.skipped)
    near = Around(found.files if found.candidates else [])  # if what follows breaks
    if progress is not None:
        progress("following imports")
    with CostsOnly("the search for what imports the files", report.broke):
        near = around(found, given.roots)
    report.sources = Sources(found.overlay, found.notebooks)
    report.root, report.base = found.root, base_of(found.root, given)
    report.beyond = [path for path in found.files if not found.holds(path)]
    report.left_out = [display_path(folder) for folder in found.left_out]
    report.failures += [f"{display_path(path)}: {reason}" for path, reason in found.errors]
    report.notes, report.linked = near.notes, near.linked
    report.all_judged = not report.failures and not report.notes
    if near.files or asked.says_what(given):
        with CostsOnly("the selection", report.broke):
            report.selected = asked.selects(given)
    candidates = set(found.candidates) if report.selected else set()  # the engine tells of those itself
    spoilt = {
        path: problem
        for path, data in found.explicit.items()
        if path not in candidates and (problem := syntax.problem(path, data))
    }
    for path, problem in spoilt.items():
        _report_problem(report, path, *problem)
    with CostsOnly("the analysis", report.broke):
        if report.selected and (near.files or asked.baseline is not None):  # whose entries may be gone with all FSDP2
            _run_engine(report, found, near, asked, set(spoilt), progress, look, early, trees)
    _put_in_order(report)
    return report


def _put_in_order(report: Report) -> None:
    project = project_at(report.root)
    for told in report.sorted_out:
        placed = (replace(finding.with_sites(report.sources.in_cell), project=project) for finding in told)
        told[:] = sorted(placed, key=by_place)


def _run_engine(
    report: Report,
    found: Discovered,
    near: Around,
    asked: Asked,
    told: Collection[str],
    progress: Callable[[str], None] | None,
    look: Callable[[], None] | None,
    early: Early | None,
    trees: Trees | None,
) -> None:
    # A tree without FSDP2 never comes here, and so never pays for these imports.
    from fsdp2_lint.files.pythons import too_new
    from fsdp2_lint.findings.suppress import Comments
    from fsdp2_lint.findings.triage import triage
    from fsdp2_lint.findings.unneeded import Run, doubts, unneeded
    from fsdp2_lint.stated import target as stated_target
    from fsdp2_lint.static.budget import stated as budget_of
    from fsdp2_lint.static.cache.runs import remembered
    from fsdp2_lint.static.cache.store import default_store
    from fsdp2_lint.static.result import Request
    from fsdp2_lint.vocab.rule import for_target

    given = report.settings
    budget = budget_of(os.environ, asked.steps)
    rules, selection = asked.selection(given)
    torch = stated_target(found.root, asked.target, given.target_torch)
    report.target = torch.version
    report.notes += [torch.note] if torch.note else []
    judged = [rule for rule in asked.judged(rules, selection, given) if "S" in rule.judged_by]
    asked_for = set(found.files)
    entries = [str(given.path(each)) for each in given.entry_points]
    store = default_store(found.root, asked.cache_dir) if asked.cache and not asked.dump_trace else None

    def judge(these: Around, named: Collection[str], early: Early | None = None) -> Result:
        known = {*(these.within.files if these.within is not None else these.files)}
        request = Request(
            files=these.files,
            root=found.root,
            explicit=named,
            overlay=found.overlay,
            rules=for_target(judged, report.target),
            target=asked.target or given.target_torch,
            source_roots=given.roots,
            entry_points=[each for each in entries if os.path.realpath(file_of(each)) in known],
            budget=budget,
            within=these.within,
        )

        def work() -> Result:
            from fsdp2_lint.static.ahead import Ahead
            from fsdp2_lint.static.check import check  # which bring all that an analysis needs

            ahead = Ahead(early.path, partial(tell, early)) if early is not None else None
            return check(
                request,
                store=store,
                jobs=asked.jobs,
                dump_trace=asked.dump_trace,
                progress=progress,
                look=look,
                ahead=ahead,
                trees=trees,
            )

        return remembered(store, request, work) if store is not None else work()

    sorted_out = partial(
        triage,
        selection=selection,
        settings=given,
        baseline=asked.baseline if asked.hides else None,
    )

    def tell(early: Early, findings: Iterable[Finding], texts: Mapping[str, bytes]) -> None:
        made = Report(files=report.files, beyond=report.beyond, root=found.root, base=report.base, settings=given)
        made.target, made.sources = report.target, Sources(found.overlay, found.notebooks)
        made.sources.take(texts)
        here, _ = parted(_named(findings, made), asked_for)
        made.take(sorted_out(here, comments=Comments(made.sources), broke=made.broke))
        _put_in_order(made)
        early.tell(made)

    result = judge(near, {*found.explicit, *(without_tests(found) if near.within is not None else ())}, early)
    report.sources.take(result.texts)
    comments = Comments(report.sources)
    told_apart = partial(sorted_out, comments=comments, broke=report.broke)

    def sort_in(findings: Iterable[Finding]) -> None:
        report.take(told_apart(findings))

    named = _named(result.findings, report)
    # Imports lead out of the files that were given: what lies wholly elsewhere was not asked for.
    here, elsewhere = parted(named, asked_for)
    sort_in(here)
    report.elsewhere = len(told_apart(elsewhere).findings) if near.within is not None else 0
    with CostsOnly("the verdicts of the models", report.broke):
        mine = [model for model in result.models if concerns(model, asked_for)]
        report.models = [placed(model, report.sources.shown) for model in mine]
        programs = [program for program in result.followed if concerns(program, asked_for)]
        report.followed = [placed(program, report.sources.shown) for program in programs]
    report.seen = result.seen
    report.traces = list(result.traces)
    report.programs, report.cut = result.programs, result.cut
    for part, defect in result.broken:
        report.broke(part, defect)
    report.notes.extend(result.notes)
    report.notes.extend(f"out of budget, so its verdicts are unknown: {entry}" for entry in result.out_of_budget)
    report.notes.extend(too_new([problem for problem in result.problems if problem.needs], found.root))
    for problem in result.problems:
        if problem.path in told or problem.needs:
            continue
        if problem.path in asked_for or problem.message.startswith(INTERNAL):
            _report_problem(report, problem.path, problem.row, problem.column, problem.message)
        else:
            report.notes.append(f"not followed: {display_path(problem.path)}:{problem.row}: {problem.message}")
    incomplete = [*report.failures, *report.notes, *(problem.message for problem in result.problems)]
    report.all_judged = not incomplete
    with CostsOnly("what is not needed any more", report.broke):
        run = Run(
            found, near, given.roots, frozenset(rule.code for rule in judged), comments, report.base, named, incomplete
        )
        rest = unneeded(run, asked.baseline, partial(doubts, found.root, given, (asked.target, torch.own)), judge)
        sort_in(rest.comments)
        report.gone = rest.entries
        if rest.refused:
            report.notes.append(f"comments and baseline entries that are not needed are not reported: {rest.refused}")


def _named(findings: Iterable[Finding], report: Report) -> list[Finding]:
    """As people read their places, and with what tells each from all others."""
    named = [finding.with_sites(report.sources.in_characters) for finding in findings]
    with CostsOnly("the fingerprints of findings", report.broke):
        named = with_fingerprints(named, report.base, report.sources)
    return named


def _report_problem(report: Report, path: str, row: int, column: int, message: str) -> None:
    if syntax.is_syntax_error(message):
        found = syntax.finding(path, row, column, message)
        report.findings += with_fingerprints([found], report.base, report.sources)
    else:
        report.failures.append(f"{display_path(path)}: {message}")
