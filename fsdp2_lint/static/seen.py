"""How much was seen of each model, program and file: what ``verify`` needs to tell a mend from an edit that hides.

A rule that is not found any more may be mended, or out of sight. Which it is, the words of that rule alone do not
say; so all words are kept, with what stayed open, and with the calls that were not followed.
"""

from __future__ import annotations

from ast import Module as SyntaxTree
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace

from astroid import nodes

from ..files.functions import in_tree
from ..vocab.declared import record
from ..vocab.finding import Finding, Seen, Site
from ..vocab.rule import ModelKey, ProgramKey, Verdict
from ..vocab.target import Version

Subject = ModelKey | ProgramKey
Key = tuple[str, str, int]
_WORST = ("violated", "unknown", "upheld")


@record
class Extent:
    """How far one program was followed: the calls that were not, and the functions that were."""

    unfollowed: Counter[str] = field(default_factory=Counter)
    functions: Mapping[str, Site] = field(default_factory=dict)


def functions(reached: Iterable[nodes.NodeNG]) -> dict[str, Site]:
    """Of what was run the functions, by file and name."""
    found: dict[str, Site] = {}
    for node in reached:
        if isinstance(node, nodes.FunctionDef):
            root = node.root()
            name = f"{root.file}:{node.qname().removeprefix(f'{root.name}.')}"
            found[name] = Site(root.file, node.fromlineno, 1, node.end_lineno or node.fromlineno)
    return found


class Sight:
    """What was seen of all subjects of a run. A program has the verdicts of its models too.

    ``read`` gives a file's plain syntax tree.
    """

    def __init__(
        self,
        verdicts: Iterable[Verdict],
        extents: Mapping[ProgramKey, Extent],
        unreadable: Iterable[str],
        read: Callable[[str], SyntaxTree | None],
        torch: Version | None,
    ) -> None:
        self._torch = torch
        self._extents = dict(extents)
        self._read = read
        self._shut = Counter(f"{path}, which cannot be read" for path in unreadable)
        self._held: dict[Subject, list[Verdict]] = {program: [] for program in extents}
        self._at_fault: dict[Key, dict[Subject, None]] = {}  # the same line may be at fault for several models
        for verdict in verdicts:
            self._take(verdict)
        self.found = _numbered({subject: self._seen(subject) for subject in self._held})

    def about(self, finding: Finding) -> tuple[Seen, ...]:
        """What one fault is about.

        Rules that were judged at the places of the fault alone, or in calls that begin at its first place, say
        nothing of the rest: whoever mends it edits those.
        """
        told = []
        for subject in self._at_fault.get(finding.key, ()):
            elsewhere = {each.code for each in self._held[subject] if not _by(finding, each)}
            seen = self.found[subject]
            kept = {code: word for code, word in seen.words.items() if code in elsewhere or code == finding.code}
            told.append(replace(seen, words=kept, functions=_around(finding.primary.site, seen.functions)))
        return tuple(told)

    def _take(self, verdict: Verdict) -> None:
        if not (verdict.findings or verdict.unknown or verdict.judged):
            return
        subjects = _subjects(verdict)
        for subject in subjects:
            self._held.setdefault(subject, []).append(verdict)
        for finding in verdict.findings if subjects else ():
            self._at_fault.setdefault(finding.key, {})[subjects[0]] = None

    def _seen(self, subject: Subject) -> Seen:
        """What is said of one model or optimizer, by which programs, and what was not followed on the way."""
        verdicts = self._held[subject]
        programs = _programs(subject, verdicts)
        calls, ran = Counter(self._shut), dict[str, Site]()
        for extent in map(self._extent, programs):
            calls |= extent.unfollowed  # programs share code: what several call is no more for that
            ran |= extent.functions
        return replace(
            _identified(subject),
            words=_words(verdicts),
            reasons=_reasons(verdicts),
            scripts=tuple(sorted(program.path for program in programs if program.kind == "script")),
            unfollowed=dict(sorted(calls.items())),
            functions=ran,
            torch=self._torch,
        )

    def _extent(self, program: ProgramKey) -> Extent:
        """Of a file that is read as text all functions are seen, and no call is followed."""
        if program not in self._extents:
            tree = self._read(program.path)
            named = in_tree(tree) if tree is not None else ()
            spans = {
                f"{program.path}:{name}": Site(program.path, at.lineno, 1, at.end_lineno or 0) for name, at in named
            }
            self._extents[program] = Extent(Counter(), spans)
        return self._extents[program]


def _identified(subject: Subject) -> Seen:
    if isinstance(subject, ModelKey):
        return Seen("model", subject.label, subject.site)
    return Seen(subject.kind, subject.name, Site(subject.path, 1))


def _programs(subject: Subject, verdicts: Iterable[Verdict]) -> list[ProgramKey]:
    if isinstance(subject, ProgramKey):
        return [subject]
    return [*dict.fromkeys(program for verdict in verdicts for program in verdict.programs)]


def _words(verdicts: Iterable[Verdict]) -> dict[str, str]:
    words: dict[str, str] = {}
    for verdict in verdicts:
        words[verdict.code] = min(words.get(verdict.code, "upheld"), verdict.word, key=_WORST.index)
    return dict(sorted(words.items()))


def _reasons(verdicts: Iterable[Verdict]) -> dict[str, tuple[str, ...]]:
    reasons: dict[str, dict[str, None]] = {}
    for verdict in verdicts:
        reasons.setdefault(verdict.code, {}).update(dict.fromkeys(verdict.unknown))
    return {code: tuple(why) for code, why in sorted(reasons.items()) if why}


def _around(site: Site, functions: Mapping[str, Site]) -> dict[str, Site]:
    return {name: at for name, at in functions.items() if at.path == site.path and at.row <= site.row <= at.end_row}


def _by(finding: Finding, verdict: Verdict) -> bool:
    """Was this only judged because of what stands at the places of the fault?"""
    first, *others = [(site.path, site.row) for site in finding.sites]
    judged = {(site.path, site.row) for site in (*verdict.judged, *verdict.unknown.values())}
    return first in (verdict.through or ()) or judged <= {first, *others}


def _subjects(verdict: Verdict) -> tuple[Subject, ...]:
    """What it is about, and then the programs that have it."""
    if isinstance(verdict.subject, ModelKey):
        return verdict.subject, *verdict.programs
    return (verdict.subject,) if isinstance(verdict.subject, ProgramKey) else ()


def _numbered(found: dict[Subject, Seen]) -> dict[Subject, Seen]:
    """Those of one name in one file, in the order of the file."""
    alike: dict[tuple[str, str, str], list[Subject]] = {}
    for subject, each in sorted(found.items(), key=lambda item: item[1].site):
        alike.setdefault(each.identity, []).append(subject)
    for subjects in alike.values():
        for number, subject in enumerate(subjects, start=1):
            found[subject] = replace(found[subject], number=number, of=len(subjects))
    return found
