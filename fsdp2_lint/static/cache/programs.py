"""Single programs: what was seen of one stands as long as all that it asked of the project is answered the same."""

from __future__ import annotations

from dataclasses import astuple, replace

from ...files.digests import digest
from ...vocab.declared import record
from ...vocab.finding import Finding, Site
from ...vocab.rule import ModelKey, ProgramKey, Verdict
from ..entries import Entry
from ..following import Followed, Limits
from ..frontend.project import Project
from ..frontend.reads import Import, Question, Reads
from ..result import Request
from .codec import dumps, kept
from .stamp import stamp
from .store import Store


@record
class Sighting:
    """What was seen of a program, and what was asked of the project for it.

    ``unreadable`` are those of the files that were told to be so, ``defects`` those of the analysis that showed.
    """

    followed: Followed
    reads: Reads
    unreadable: list[str]
    defects: list[tuple[str, str]]


@record
class _Words:
    """A verdict, with its subject by kind."""

    code: str
    model: ModelKey | None
    program: ProgramKey | None
    findings: list[Finding]
    judged: dict[Site, str]
    unknown: dict[str, Site]
    programs: dict[ProgramKey, None]
    through: frozenset[tuple[str, int]] | None


@record
class _Kept:
    """What was seen, and what it rests on: digests of files, what imports mean, answers to questions."""

    contents: dict[str, str]
    imports: dict[Import, str | None]
    asked: dict[Question, str]
    unreadable: list[str]
    followed: Followed
    words: list[_Words]


class Programs:
    """Of one run, whose request decides what else an answer depends on."""

    def __init__(self, store: Store | None, request: Request, project: Project) -> None:
        self._store, self._project = store, project
        self._last: tuple[str, _Kept | None] = "", None  # what was read last, which may be asked for twice
        rules = [(rule.code, rule.severity.value, rule.target) for rule in request.rules]
        asked = rules, request.target, request.root, list(request.source_roots), astuple(request.budget)
        self._about = repr((stamp(), *asked)) if store is not None else ""

    def look(self, entry: Entry, limits: Limits) -> Followed | None:
        """What was seen of this program before, if it would be seen now."""
        known = self._known(entry, limits)
        if known is None or not self._stands(known):
            return None
        self._project.take_over(Reads(), known.unreadable, ())
        return replace(known.followed, verdicts=[_verdict(each) for each in known.words])

    def before(self, entry: Entry, limits: Limits) -> Followed | None:
        """What was seen of this program before, without its verdicts: another may be seen now."""
        known = self._known(entry, limits)
        return known.followed if known is not None else None

    def _known(self, entry: Entry, limits: Limits) -> _Kept | None:
        key = self._key(entry, limits)
        if self._store is not None and self._last[0] != key:
            self._last = key, kept(_Kept, self._store.get(key))
        return self._last[1] if self._last[0] == key else None

    def keep(self, entry: Entry, limits: Limits, sighting: Sighting) -> None:
        """For later runs, unless another one may see something else."""
        followed = sighting.followed
        if self._store is not None and followed.repeatable and not followed.broken and not sighting.defects:
            self._store.put(self._key(entry, limits), dumps(self._kept(sighting)))

    def _key(self, entry: Entry, limits: Limits) -> str:
        return digest(repr((self._about, entry.kind, entry.name, limits)).encode("utf-8", "surrogateescape"))

    def _stands(self, known: _Kept) -> bool:
        project = self._project
        return (
            all(project.digest(path) == found for path, found in known.contents.items())
            and all(project.means(*asked) == found for asked, found in known.imports.items())
            and all(project.answer(asked) == found for asked, found in known.asked.items())
        )

    def _kept(self, sighting: Sighting) -> _Kept:
        project, reads = self._project, sighting.reads
        return _Kept(
            {path: project.digest(path) for path in sorted(reads.files)},
            reads.imports,
            {asked: project.answer(asked) for asked in sorted(reads.asked)},
            sighting.unreadable,
            replace(sighting.followed, verdicts=[]),
            [_words(each) for each in sighting.followed.verdicts],
        )


def _words(verdict: Verdict) -> _Words:
    subject = verdict.subject
    return _Words(
        verdict.code,
        subject if isinstance(subject, ModelKey) else None,
        subject if isinstance(subject, ProgramKey) else None,
        verdict.findings,
        verdict.judged,
        verdict.unknown,
        verdict.programs,
        verdict.through,
    )


def _verdict(words: _Words) -> Verdict:
    subject = words.model if words.model is not None else words.program
    return Verdict(words.code, subject, words.findings, words.judged, words.unknown, words.programs, words.through)
