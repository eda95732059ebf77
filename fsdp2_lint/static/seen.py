"""How much was seen of each model, program and file: what ``verify`` needs to tell a mend from an edit that hides.

A clause that is not found any more may be mended, or out of sight. Which it is, the words of that clause alone do not
say; so all words are kept, with what stayed open, and with the calls that were not followed.
"""

from __future__ import annotations

from ast import Module as SyntaxTree
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from astroid import nodes

from ..functions import in_tree
from ..vocab.finding import Finding, Seen, Site
from ..vocab.rule import ModelKey, ProgramKey, Verdict
from ..vocab.target import Version

Subject = ModelKey | ProgramKey
_WORST = ("violated", "unknown", "upheld")


@dataclass(frozen=True, slots=True)
class Extent:
    """How far one program was followed: the calls that were not, and the functions that were."""

    unfollowed: Counter[str]
    functions: Mapping[str, Site]


def functions(reached: Iterable[nodes.NodeNG]) -> dict[str, Site]:
    """Of what was run the functions, by file and name."""
    found: dict[str, Site] = {}
    for node in reached:
        if isinstance(node, nodes.FunctionDef):
            root = node.root()
            name = f"{root.file}:{node.qname().removeprefix(f'{root.name}.')}"
            found[name] = Site(root.file, node.fromlineno, 1, node.end_lineno or node.fromlineno)
    return found


def extent_of_file(path: str, tree: SyntaxTree | None) -> Extent:
    """Of a file that is read as text all functions are seen, and no call is followed."""
    named = in_tree(tree) if tree is not None else ()
    return Extent(Counter(), {f"{path}:{name}": Site(path, at.lineno, 1, at.end_lineno or 0) for name, at in named})


def seen(
    verdicts: Collection[Verdict],
    extents: Mapping[ProgramKey, Extent],
    unreadable: Iterable[str],
    torch: Version | None,
) -> dict[Subject, Seen]:
    """Of each subject. A program has the words of its models too: it sees less if less is seen of them."""
    held: dict[Subject, list[Verdict]] = {program: [] for program in extents}
    for verdict in verdicts:
        if verdict.findings or verdict.unknown or verdict.judged:
            for subject in _subjects(verdict):
                held.setdefault(subject, []).append(verdict)
    shut = Counter(f"{path}, which cannot be read" for path in unreadable)
    found = {subject: replace(_seen(subject, own, extents, shut), torch=torch) for subject, own in held.items()}
    return _numbered(found)


def about(finding: Finding, verdicts: Collection[Verdict], found: Mapping[Subject, Seen]) -> tuple[Seen, ...]:
    """What one fault is about: the same line may be at fault for several models.

    Clauses that were judged at the places of the fault alone say nothing of the rest: whoever mends it edits those.
    """
    own = [each for each in verdicts if any(mine.key == finding.key for mine in each.findings)]
    places = {(site.path, site.row) for site in finding.sites}
    told = []
    for subject in dict.fromkeys(each.subject for each in own):
        if isinstance(subject, (ModelKey, ProgramKey)):
            elsewhere = {each.code for each in verdicts if subject in _subjects(each) and not _places(each) <= places}
            seen = found[subject]
            kept = {code: word for code, word in seen.words.items() if code in elsewhere or code == finding.code}
            told.append(replace(seen, words=kept, functions=_around(finding, seen.functions)))
    return tuple(told)


def _around(finding: Finding, functions: Mapping[str, Site]) -> dict[str, Site]:
    return {
        name: at
        for name, at in functions.items()
        if any(at.path == site.path and at.row <= site.row <= at.end_row for site in finding.sites)
    }


def _places(verdict: Verdict) -> set[tuple[str, int]]:
    return {(site.path, site.row) for site in (*verdict.judged, *verdict.unknown.values())}


def _subjects(verdict: Verdict) -> Iterator[Subject]:
    if isinstance(verdict.subject, ModelKey):
        yield verdict.subject
        yield from verdict.programs
    elif isinstance(verdict.subject, ProgramKey):
        yield verdict.subject


def _seen(subject: Subject, verdicts: list[Verdict], extents: Mapping[ProgramKey, Extent], shut: Counter[str]) -> Seen:
    programs = (
        {subject: None}
        if isinstance(subject, ProgramKey)
        else {key: None for verdict in verdicts for key in verdict.programs}
    )
    calls, ran = Counter(shut), dict[str, Site]()
    for extent in (extents[program] for program in programs if program in extents):
        calls |= extent.unfollowed  # programs share code: what several call is no more for that
        ran |= extent.functions
    words: dict[str, str] = {}
    reasons: dict[str, dict[str, None]] = {}
    for verdict in verdicts:
        words[verdict.code] = min(words.get(verdict.code, "upheld"), verdict.word, key=_WORST.index)
        reasons.setdefault(verdict.code, {}).update(dict.fromkeys(verdict.unknown))
    return Seen(
        kind="model" if isinstance(subject, ModelKey) else subject.kind,
        name=subject.label if isinstance(subject, ModelKey) else subject.name,
        site=subject.site if isinstance(subject, ModelKey) else Site(subject.path, 1),
        words=dict(sorted(words.items())),
        reasons={code: tuple(why) for code, why in sorted(reasons.items()) if why},
        scripts=tuple(sorted(program.path for program in programs if program.kind == "script")),
        unfollowed=dict(sorted(calls.items())),
        functions=ran,
    )


def _numbered(found: dict[Subject, Seen]) -> dict[Subject, Seen]:
    """Those of one name in one file, in the order of the file."""
    alike: dict[tuple[str, str, str], list[Subject]] = {}
    for subject, each in sorted(found.items(), key=lambda item: item[1].site):
        alike.setdefault(each.identity, []).append(subject)
    for subjects in alike.values():
        for number, subject in enumerate(subjects, start=1):
            found[subject] = replace(found[subject], number=number, of=len(subjects))
    return found
