"""What has to be judged so that nothing is missing in the files that were given.

A fault that crosses files shows in all of them: in a helper because of what a script does with it, in a script because
of what a helper does. So the programs are judged that a given file is a part of: those that begin in it, or in a file
that imports it, directly or not. They are looked for in the text of the project, and parsed only if FSDP2 is in reach.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from fsdp2_lint.files.discovery import Discovered, excluded_candidates, look_at, outermost_package, walk_project
from fsdp2_lint.files.kinds import is_test, methods_that_shard, speaks_of_fsdp2
from fsdp2_lint.files.patterns import EXCLUDE
from fsdp2_lint.files.source import display_path
from fsdp2_lint.static.frontend.common_names import COMMON
from fsdp2_lint.static.frontend.lookup import Lookup, Surroundings, imports_of

if TYPE_CHECKING:
    from fsdp2_lint.static.frontend.facts import Facts
    from fsdp2_lint.static.result import ModelVerdicts, ProgramVerdicts
    from fsdp2_lint.vocab.finding import Finding, Site

Methods = dict[str, list[str]]  # name -> files of which a method of this name may shard, by their texts
_CALLED = re.compile(rb"\.([A-Za-z_]\w*)[ \t]*\(")
_COMMON = frozenset(map(str.encode, COMMON))
Judged = TypeVar("Judged", "ModelVerdicts", "ProgramVerdicts")
MANY = 16  # names to look for in each file: with more, the imports are read at once


@dataclass(slots=True)
class Around:
    """``files`` are to be analysed; nothing of FSDP2 is in reach if there are none.

    ``within`` says what else there is; None if the whole project was given. ``notes`` are what was not looked at, so
    that a program could have been missed. ``linked``: a program that the given files are a part of speaks of FSDP2.
    """

    files: list[str] = field(default_factory=list)
    within: Surroundings | None = None
    notes: list[str] = field(default_factory=list)
    linked: bool = False


def around(given: Discovered, source_roots: Sequence[str]) -> Around:
    """Of what was given. Notebooks of the project that are met are added to ``given``, as programs."""
    return _with_excluded(_around(given, source_roots), given, source_roots)


def _with_excluded(found: Around, given: Discovered, source_roots: Sequence[str]) -> Around:
    """And what the settings leave out, where it is imported: nothing in it is reported, and it is part of programs."""
    left_out = excluded_candidates(given)
    if not left_out:
        return found
    start = found.files or given.files
    lookup = _lookup(given, Discovered(files=left_out), source_roots)
    reached = _closure(start, lambda path: _imports(lookup, given, path))
    if not any(path in reached for path in left_out):
        return found
    more = [path for path in reached if path not in start and given.exclusion.holds(path) == EXCLUDE]
    within = None if given.whole else found.within or Surroundings([*start], frozenset(given.files), {})
    within = within and replace(within, files=[*within.files, *more])
    return Around([*start, *more], within, found.notes, linked=True)


def _around(given: Discovered, source_roots: Sequence[str]) -> Around:
    if given.whole:
        return Around(given.files if given.candidates else [], notes=unread(given.unread), linked=given.users > 0)
    project, imported = _survey(given)
    package = outermost_package(given.files) if project.cut else ""
    if package not in ("", given.root):
        given.root = package  # its scripts import from it, and by its name what is in it
        return _around(given, source_roots)
    if not (given.candidates or project.candidates or project.cut):
        return Around(notes=_notes(project, given))  # there is nothing that could be in reach
    lookup = _lookup(given, project, source_roots)
    if not given.candidates and not imported:
        reached = _closure(given.files, lambda path: _imports(lookup, given, path), _known(project, given))
        more = [path for path in reached if path not in given.files]
        if not _speak(reached, given, project) and not _joined(more, given, project):
            return Around(notes=_notes(project, given))
    return _programs(given, walk_project(given) if not project.cut else project, source_roots)


def _survey(given: Discovered) -> tuple[Discovered, bool]:
    """The project by its words alone, and whether another file may have to do with a given one.

    To import it takes its name; and a method that it calls may shard.
    """
    names = {os.fsencode(module_name(path)) for path in given.files}
    imported = len(names) > MANY
    texts = [text_of(path, given) for path in given.files if not imported]
    called = [b"def " + name for text in texts for name in {*_CALLED.findall(text)} - _COMMON]

    def take(path: str, project: Discovered) -> None:
        nonlocal imported
        if (data := look_at(path, project)) is not None:
            project.files.append(path)
            imported = imported or any(name in data for name in names)
            if any(word in data for word in project.words):
                project.candidates.append(path)
                imported = imported or any(name in data for name in called)

    project = walk_project(given, take)
    return project, imported and bool(project.candidates)


def module_name(path: str) -> str:
    """By which imports call a file."""
    folder, name = os.path.split(path)
    return os.path.basename(folder) if name == "__init__.py" else os.path.splitext(name)[0]


def _programs(given: Discovered, project: Discovered, source_roots: Sequence[str]) -> Around:
    given.overlay.update(project.overlay)
    given.notebooks.update(project.notebooks)
    lookup = _lookup(given, project, source_roots)
    known = _known(project, given)
    imports = {path: _imports(lookup, given, path) for path in lookup.files}
    for path, seed in _joined(lookup.files, given, project):
        imports[path].append(seed)

    def imported(path: str) -> list[str]:
        if path not in imports:
            imports[path] = _imports(lookup, given, path)
        return imports[path]

    begin = _closure(given.files, _inverted(imports).get)
    reached = _closure(begin, imported, known)
    scope = [path for path in dict.fromkeys([*lookup.files, *reached]) if path in reached]
    if not _speak(reached, given, project):
        return Around(notes=_notes(project, given))
    within = Surroundings(lookup.files, frozenset(begin), _inverted(imports))
    linked = given.users > 0 or any(speaks_of_fsdp2(text_of(path, given)) for path in reached)
    return Around(scope, within, _notes(project, given), linked)


def _joined(files: Sequence[str], given: Discovered, project: Discovered) -> list[tuple[str, str]]:
    """Which of these call a method that shards on a model that some framework builds, and the file of that method.

    Nothing in them imports it, so this stands for an import.
    """
    methods: Methods = {}
    for path in dict.fromkeys([*given.candidates, *project.candidates]) if files else ():
        for name in methods_that_shard(text_of(path, given)) - COMMON:
            methods.setdefault(name, []).append(path)
    asked = {path: _asked(path, text_of(path, given), methods) for path in files} if methods else {}
    seeds = dict.fromkeys(seed for names in asked.values() for name in names for seed in methods[name])
    if not seeds:
        return []
    from fsdp2_lint.static.frontend.joining import facts_in, joins  # few projects need it

    def facts(path: str) -> Facts | None:
        return facts_in(path, text_of(path, given))

    return joins([path for path in asked if asked[path]], seeds, lambda path: text_of(path, given), facts)


def _asked(path: str, text: bytes, methods: Methods) -> list[str]:
    """Which of these it may call as those of another file."""
    return [name for name, seeds in methods.items() if seeds != [path] and f".{name}".encode() in text]


def _speak(files: Iterable[str], given: Discovered, project: Discovered) -> bool:
    """Has any of these files to do with FSDP2, by its words?"""
    known = {*given.candidates, *project.candidates}
    if not project.cut:
        return any(path in known for path in files)
    return any(word in text_of(path, given) for path in files for word in given.words)


def _lookup(given: Discovered, project: Discovered, source_roots: Sequence[str]) -> Lookup:
    lookup = Lookup(given.root, given.overlay, source_roots)
    walked = [] if project.cut else project.files
    lookup.files = sorted({*walked, *given.files})  # what was named may be excluded, or on no disk
    return lookup


def _known(project: Discovered, given: Discovered) -> frozenset[str] | None:
    """Where imports are followed to; None: everywhere, since what there is is not known."""
    return None if project.cut else frozenset([*project.files, *given.files])


def _imports(lookup: Lookup, given: Discovered, path: str) -> list[str]:
    return list(imports_of(lookup, path, text_of(path, given)))


def text_of(path: str, given: Discovered) -> bytes:
    """Nothing if it cannot be read: the analysis tells of it, should it come here."""
    try:
        return look_at(path, given) or b""
    except OSError:
        return b""


def _inverted(imports: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path, targets in imports.items():
        for target in targets:
            found.setdefault(target, []).append(path)
    return found


def _closure(
    start: Iterable[str], following: Callable[[str], Iterable[str] | None], known: frozenset[str] | None = None
) -> dict[str, None]:
    found = dict.fromkeys(start)
    queue = list(found)
    while queue:
        for path in following(queue.pop()) or ():
            if path not in found and (known is None or path in known):
                found[path] = None
                queue.append(path)
    return found


def unread(files: Iterable[tuple[str, str]]) -> list[str]:
    return [f"not looked at: {display_path(path)}: {reason}" for path, reason in files]


def _notes(project: Discovered, given: Discovered) -> list[str]:
    said = {os.path.realpath(path) for path, _ in given.errors}
    left = (*given.unread, *project.errors, *project.unread)
    notes = [*dict.fromkeys(unread(each for each in left if each[0] not in said))]
    if project.cut:
        where = display_path(project.root)
        notes.append(
            f"what imports these files was not looked for: {where} holds too much, and no .git or pyproject.toml"
        )
    return notes


def without_tests(given: Discovered) -> list[str]:
    """The given files, and of tests only those that were named one by one."""
    base = os.path.commonpath([os.path.dirname(path) for path in given.files])
    return [path for path in given.files if path in given.explicit or not is_test(os.path.relpath(path, base))]


def parted(findings: Iterable[Finding], files: Collection[str]) -> tuple[list[Finding], list[Finding]]:
    """Those that have a place in ``files``, and the others."""
    parted: tuple[list[Finding], list[Finding]] = ([], [])
    for finding in findings:
        parted[not any(site.path in files for site in (*finding.sites, *finding.also))].append(finding)
    return parted


def concerns(model: ModelVerdicts | ProgramVerdicts, files: Collection[str]) -> bool:
    """Is a model or a program of these files, or what is said of it?"""
    places = (model.site, *(label.site for rule in model.rules for label in rule.evidence))
    return any(site.path in files for site in places)


def placed(model: Judged, told: Callable[[Site], Site]) -> Judged:
    """The same model or program with its places as people read them."""
    rules = tuple(
        replace(rule, evidence=tuple(replace(label, site=told(label.site)) for label in rule.evidence))
        for rule in model.rules
    )
    return replace(model, site=told(model.site), rules=rules)
