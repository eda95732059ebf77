"""What is not needed any more: comments that silence nothing, entries of the baseline that fit nothing.

Both are thrown away on this word, so it is said only where every program was judged that reaches their files. A run
leaves programs out: tests that nobody named, and what ``exclude`` says. They are judged too, once something of theirs
would be called unneeded. Where that cannot be done, or did not come to its end, the reason is said instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fsdp2_lint.around import Around, around, module_name, text_of, without_tests
from fsdp2_lint.errors import Refusal
from fsdp2_lint.files.discovery import UNNAMED, Discovered, is_root
from fsdp2_lint.files.kinds import is_test
from fsdp2_lint.files.source import Sources, display_path
from fsdp2_lint.findings.fingerprints import with_fingerprints
from fsdp2_lint.settings import OWN_FILE, Settings, settings
from fsdp2_lint.vocab.target import Version, in_words

if TYPE_CHECKING:
    from fsdp2_lint.findings.baseline import Baseline, Entry
    from fsdp2_lint.findings.suppress import Comments
    from fsdp2_lint.static.frontend.lookup import Surroundings
    from fsdp2_lint.static.result import Result
    from fsdp2_lint.vocab.finding import Finding

_BY_TEXT = (b"import_module", b"__import__", b"run_module", b"_target_")
Engine = Callable[[Around, Collection[str]], "Result"]
"""Judges programs; the second is the files that count as named one by one."""


@dataclass(slots=True)
class Run:
    """What a run looked at, and what it found. ``incomplete`` are the reasons for which not all of that was judged."""

    found: Discovered
    near: Around
    roots: Sequence[str]
    codes: frozenset[str]
    comments: Comments
    base: str
    findings: Sequence[Finding] = ()
    incomplete: Sequence[str] = ()


@dataclass(slots=True)
class Unneeded:
    """``refused`` says why nothing is said of what seems unneeded, but for comments that are wrong in any case."""

    comments: list[Finding] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    refused: str = ""


def unneeded(run: Run, baseline: Baseline | None, doubts: Callable[[], str], engine: Engine) -> Unneeded:
    """``doubts`` says why this kind of run can say nothing of what is not needed, if so."""
    wrong = _idle(run, ())
    seems = _seems(run, baseline, run.findings)
    in_doubt = Unneeded([each for each in seems.comments if each not in wrong], seems.entries)
    if not in_doubt.comments and not in_doubt.entries:
        return seems
    questioned = _files(in_doubt, baseline)
    if why := next(iter(run.incomplete), "") or doubts() or _unnamed(questioned):
        return Unneeded(wrong, refused=why)
    others = _others(run, questioned)
    if others.notes:
        return Unneeded(wrong, refused=others.notes[0])
    if others.within is not None and (why := _imported_by_text(run.found, questioned, others.within.files)):
        return Unneeded(wrong, refused=why)
    if others.within is None or not (programs := _missing(run, others.files, others.within)):
        return seems
    result = engine(replace(others, within=replace(others.within, programs=programs)), programs)
    if why := _cut(result):
        return Unneeded(wrong, refused=why)
    return _seems(run, baseline, [*run.findings, *_told(result, run, Sources(run.found.overlay, run.found.notebooks))])


def _seems(run: Run, baseline: Baseline | None, findings: Sequence[Finding]) -> Unneeded:
    """As far as these findings go."""
    entries = baseline.gone(findings, run.codes, run.found) if baseline is not None else []
    return Unneeded(_idle(run, run.codes), entries)


def _idle(run: Run, judged: Collection[str]) -> list[Finding]:
    """What is said of comments where these codes were judged. Where FSDP2 is out of reach nothing is said of them."""
    from fsdp2_lint.findings.unused import idle

    files = without_tests(run.found) if run.near.files else ()
    return with_fingerprints(idle(files, run.comments, judged), run.base, run.comments.sources)


def _files(seems: Unneeded, baseline: Baseline | None) -> list[str]:
    """Where what seems to be unneeded is. Of a file that was deleted no program is left."""
    held = {finding.primary.site.path for finding in seems.comments}
    if baseline is not None:
        held.update(path for entry in seems.entries if os.path.exists(path := baseline.path(entry)))
    return sorted(held)


def _unnamed(paths: Iterable[str]) -> str:
    if any(os.path.basename(path) == UNNAMED for path in paths):
        return "what came from stdin has no name by which a program could import it"
    return ""


def _imported_by_text(found: Discovered, paths: Iterable[str], files: Iterable[str]) -> str:
    """Does a file that imports modules by texts hold the name of one of these in a text? Nobody follows that."""
    stems = "|".join(sorted({re.escape(module_name(path)) for path in paths}))
    named = re.compile(rf"""["'](?:[\w.]*\.)?(?:{stems})["'.:]""".encode())
    for path in files:
        data = text_of(path, found)
        if any(word in data for word in _BY_TEXT) and named.search(data):
            return f"{display_path(path)} may import what they are in by a text"
    return ""


def _missing(run: Run, files: Iterable[str], within: Surroundings) -> frozenset[str]:
    """Which programs were not judged: all, where some of what they import was left out."""
    return within.programs if {*files} - {*run.near.files} - within.programs else within.programs - _judged(run)


def _judged(run: Run) -> frozenset[str]:
    """Where the programs of this run begin: of tests, in those that were named."""
    near, found = run.near, run.found
    if not near.files:
        return frozenset()
    programs = near.within.programs if near.within is not None else near.files
    base = found.root if near.within is not None else os.path.commonpath([os.path.dirname(path) for path in near.files])
    named = {*found.explicit, *(without_tests(found) if near.within is not None else ())}
    return frozenset(path for path in programs if path in named or not is_test(os.path.relpath(path, base)))


def _others(run: Run, paths: Sequence[str]) -> Around:
    """All programs of the project that reach these files, excluded ones too."""
    found = run.found
    if not paths:
        return Around()
    wide = replace(
        found,
        files=list(paths),
        candidates=[path for path in paths if path in set(found.candidates)],
        exclusion=found.exclusion.of_git(),
        errors=[],
        left_out=[],
        whole=False,
    )
    return around(wide, run.roots)


def _told(result: Result, run: Run, sources: Sources) -> list[Finding]:
    findings = [finding.with_sites(sources.in_characters) for finding in result.findings]
    for finding in findings:
        run.comments.silence(finding)
    return with_fingerprints(findings, run.base, sources)


def _cut(result: Result) -> str:
    """Why not all was judged."""
    for problem in result.problems:
        return f"not followed: {display_path(problem.path)}:{problem.row}: {problem.message}"
    for said in (*result.out_of_budget, *result.notes, *(f"{part}: {defect}" for part, defect in result.broken)):
        return said
    return ""


def doubts(root: str, given: Settings, torch: tuple[Version | None, Version]) -> str:
    """Why a run with these settings cannot say what is not needed. ``torch``: what was asked for, and the project's."""
    asked, own = torch
    if asked is not None and asked != own:
        return f"the project is for {in_words(own)} and this run for {in_words(asked)}"
    if not is_root(root) and not os.path.exists(os.path.join(root, OWN_FILE)):
        return f"no .git, pyproject.toml or {OWN_FILE} says whether {display_path(root)} is the whole project"
    try:
        mine = settings(root)
    except Refusal as refusal:
        return str(refusal)
    if _reach(mine) - _reach(given):
        return f"source-roots or entry-points of {display_path(str(mine.file))} do not hold in this run"
    return ""


def _reach(given: Settings) -> set[str]:
    """What the settings say of where programs begin and what they import."""
    return {os.path.realpath(given.path(each)) for each in (*given.source_roots, *given.entry_points)}
