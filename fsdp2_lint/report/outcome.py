"""What a job came to: the values that a report consists of."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from ..vocab.finding import Finding, Site

CLEAN, FOUND, ABNORMAL, NOTHING_CHECKED = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Crash:
    """What ended the script on some ranks. ``code`` names the rule behind one of torch's own errors."""

    error: str
    ranks: tuple[int, ...]
    code: str = ""
    why: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a rehearsal could not go on, and the user's line at which it stood; row 0 where there is none."""

    why: str
    path: str = ""
    row: int = 0

    @property
    def words(self) -> str:
        return f"{self.path}:{self.row}: {self.why}" if self.row else self.why


@dataclass(frozen=True, slots=True)
class JobVerdict:
    """What one rule came to on one model, over all ranks."""

    code: str
    model: str
    word: str
    reasons: tuple[str, ...] = ()
    judged: Site | None = None
    at: Site | None = None  # where the model is sharded first


@dataclass(frozen=True, slots=True)
class Origin:
    """What was run: the script as it was named, or the module or code, and the commit that was checked out."""

    script: str = ""
    arguments: tuple[str, ...] = ()
    folder: str = ""
    commit: str = ""

    @property
    def words(self) -> str:
        """Empty where no script was started: then a loop of the user's own was watched."""
        command = " ".join([self.script, shlex.join(self.arguments)]).rstrip()
        of = f", at commit {self.commit[:12]}" if self.commit else ""
        return f"{command} in {self.folder}{of}" if self.script else ""


@dataclass(slots=True)
class JobReport:
    """``ended`` has the exit code of each rank that came to its end, ``failed`` that of the first to fail, or 0.

    ``complete``: every rank said all that it had to say, to its end. ``earlier`` counts the files of earlier runs.
    ``rehearsed``: the ranks that a rehearsal chose, where this is one; ``stopped`` why it could not go on, by rank.
    ``pauses`` are those of the notes that tell who kept whom waiting; ``said`` are findings that were told at once.
    """

    findings: list[Finding] = field(default_factory=list)
    verdicts: list[JobVerdict] = field(default_factory=list)
    crashes: list[Crash] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pauses: list[str] = field(default_factory=list)
    said: set[tuple[str, str, int]] = field(default_factory=set)
    ranks: tuple[int, ...] = ()
    world_size: int = 0
    steps: int = 0
    ended: dict[int, int] = field(default_factory=dict)
    failed: int = 0
    sharded: bool = False
    complete: bool = True
    rehearsed: tuple[int, ...] = ()
    stopped: dict[int, Stop] = field(default_factory=dict)
    all_judged: bool = True  # every rank came to the end of the watched steps
    earlier: int = 0
    origin: Origin = field(default_factory=Origin)
    files: set[str] = field(default_factory=set)  # of the user, that the job loaded

    @property
    def exit_code(self) -> int:
        if self.findings:
            return FOUND
        if self.stopped:
            return NOTHING_CHECKED
        if not self.complete:
            return ABNORMAL
        return CLEAN if self.sharded else NOTHING_CHECKED
