"""What a run says, all of it: the commands, the servers and the output formats read it here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fsdp2_lint.errors import INTERNAL
from fsdp2_lint.files.source import Sources, display_path
from fsdp2_lint.settings import Settings
from fsdp2_lint.vocab.target import NEWEST, Version


# -- what could not be read, decoded, followed or judged to its end: said and counted wherever findings are
@dataclass(frozen=True, slots=True)
class Unseen:
    """``failures`` make a run abnormal, ``notes`` do not. Each is one line."""

    failures: Sequence[str] = ()
    notes: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.failures or self.notes)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """``error`` or ``warning``, and the line."""
        yield from (("error", line) for line in self.failures)
        yield from (("warning", line) for line in self.notes)

    def counted(self) -> str:
        """``1 error, 2 warnings``."""
        parts = ((len(self.failures), "error"), (len(self.notes), "warning"))
        return ", ".join(f"{number} {word}{'s' if number != 1 else ''}" for number, word in parts if number)


ALL_SEEN = Unseen()


if TYPE_CHECKING:
    from fsdp2_lint.findings.baseline import Entry
    from fsdp2_lint.static.result import ModelVerdicts, ProgramVerdicts
    from fsdp2_lint.vocab.finding import Finding, Seen


@dataclass(slots=True)
class Triaged:
    """Each finding that was selected is in one of these. Those in ``findings`` are reported."""

    findings: list[Finding] = field(default_factory=list)
    silenced: list[Finding] = field(default_factory=list)  # by a comment
    set_aside: list[Finding] = field(default_factory=list)  # by per-file-ignores
    known: list[Finding] = field(default_factory=list)  # by the baseline

    @property
    def sorted_out(self) -> tuple[list[Finding], ...]:
        return self.findings, self.silenced, self.set_aside, self.known

    def take(self, other: Triaged) -> None:
        for mine, theirs in zip(self.sorted_out, other.sorted_out):
            mine += theirs


@dataclass(slots=True)
class Report(Triaged):
    """What a run says. ``failures`` are about the run itself, each one line: they make it abnormal.

    ``gone`` are the entries of the baseline that fit nothing any more. ``base`` is what the paths in
    fingerprints are relative to. ``candidates`` counts the given files that speak of FSDP2; ``linked`` is true where
    what imports them, or what they import, does. ``elsewhere`` counts the findings of the same programs that lie wholly
    in other files, ``all_judged`` says that nothing of the given ones was left out, ``selected`` that there was
    anything to judge. ``seen`` is what was seen of each model and program: what ``verify`` compares. ``left_out`` are
    folders with Python files that were taken for the output of a build. ``beyond`` are files to which a link led, out
    of what was given: they stay as they are. ``skipped`` is what leaves no file to check, if that is so.
    """

    gone: list[Entry] = field(default_factory=list)
    models: list[ModelVerdicts] = field(default_factory=list)
    followed: list[ProgramVerdicts] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    candidates: int = 0
    linked: bool = False
    elsewhere: int = 0
    programs: int = 0
    cut: int = 0  # of the programs, how many were not followed to their end
    all_judged: bool = True
    selected: bool = True
    root: str = ""
    base: str = ""
    settings: Settings = field(default_factory=Settings)
    target: Version = NEWEST
    sources: Sources = field(default_factory=Sources)

    @property
    def unseen(self) -> Unseen:
        return Unseen(self.failures, self.notes)

    def broke(self, part: str, defect: str) -> None:
        """Something is missing for a defect of the tool."""
        self.failures.append(f"{INTERNAL} in {display_path(part)}: {defect}")
        self.all_judged = False

    def fixable(self, *, safe: bool) -> list[Finding]:
        """Findings with a fix, of one kind. Files that were not asked for, such as imported ones, stay as they are.

        So do notebooks, whose text is not the program that was checked.
        """
        return [
            finding
            for finding in self.findings
            if finding.fix is not None and finding.fix.safe is safe
            if all(edit.site.path in self.own and not edit.site.cell for edit in finding.fix.edits)
        ]

    @property
    def own(self) -> set[str]:
        """The files that may be changed."""
        return {*self.files} - {*self.beyond}
