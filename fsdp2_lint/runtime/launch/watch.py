"""One process of a job under hooks, from its start to its end: the script itself, or a rank that it starts."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...report.findings import disagreements
from ...report.folders import attempt
from ...report.job import read_job
from ...report.rank_file import RankFile
from ...report.watcher.speaker import line_of
from ...report.watcher.speaker import say as say_finding
from ...vocab.facts import Fact
from ...vocab.finding import Finding
from .. import adapter
from ..crashes import crash
from ..hangs.stall import StallWatch
from ..monitors import install
from ..monitors.forward import closing
from ..session import Options, Session
from .program import Program


class NoReport(OSError):
    """A job's folder cannot be written."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the processes of a job are watched with. ``folder`` is that of the job.

    ``live``: rank 0 says on stderr what it finds as soon as it finds it. ``about``: what else the first record says.
    """

    program: Program
    options: Options
    folder: Path
    live: bool
    about: Mapping[str, object] = field(default_factory=dict)


class Watch:
    """Hooks are on from :meth:`begin` to :meth:`end`. :class:`NoReport` where nothing can be written."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.session = Session(_opened(plan.folder), plan.options, {**plan.program.about(), **plan.about})
        if plan.live:
            _announce_findings(self.session, plan.folder)
        self._stalls = StallWatch(self.session, self.session.closed, alone=True)

    def begin(self) -> None:
        install(self.session)
        self.session.watch((os, "_exit"), rare=True, before=self._leave)
        self._stalls.start()

    def _leave(self, args: tuple[int, ...], kwargs: dict[str, int]) -> None:
        """Nothing more can be judged: perhaps this is how a thread ends a process that hangs."""
        closing.write_end(self.session, int([*args, *kwargs.values(), 0][0]))

    def crashed(self, error: BaseException) -> str:
        """Write down what ended the work; what it means in words, where it is one of torch's errors."""
        self._stalls.stop(went_on=False)  # whoever waited has been thrown out
        meaning = crash.explain(self.session, error)
        words = {"code": meaning.code, "why": meaning.why, "fix": meaning.fix} if meaning is not None else {}
        self.session.file.write("crash", error=f"{type(error).__name__}: {error}"[:2000], **words)
        return "" if meaning is None else f"fsdp2-lint: {meaning.code}: {meaning.why}\n  fix: {meaning.fix}"

    def end(self, code: int) -> int:
        """The exit code. Finding something in the end is a failure where findings are to be raised."""
        self._stalls.stop()
        session = self.session
        found = len(session.findings)
        session.cut_off = session.cut_off or code != 0
        closing.finish(session, code)
        # Reference cycles that hold a process group to the end of the process let gloo abort there.
        gc.collect()
        late = list(session.findings.values())[found:]
        if code == 0 and session.options.on_finding == "raise" and any(each.severity.value == "error" for each in late):
            return 1
        return code


def _opened(folder: Path) -> RankFile:
    try:
        return RankFile(folder, adapter.own_rank(), attempt(), lost=_lost)
    except OSError as error:
        raise NoReport(f"{folder}: no reports can be written there: {error.strerror or error}") from None


def _lost(error: OSError) -> None:
    say(f"fsdp2-lint: rank {adapter.own_rank()} can write no more of its report: {error.strerror or error}")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _announce_findings(session: Session, folder: Path) -> None:
    """Rank 0 says at once what it finds, and what the ranks have said so far when the watched steps are over."""
    told: set[tuple[str, str, int]] = set()

    def found(finding: Finding) -> None:
        if adapter.own_rank() == 0:
            _announce(finding)

    def closed() -> None:
        if adapter.is_member() and adapter.own_rank() == 0:  # and not what only started the ranks
            _announce_disagreements(session, folder, told)

    def disagree(said: list[tuple[int, Fact]]) -> None:
        for _, finding in disagreements(said, session.rules)[0]:
            if session.selection.shows(finding):
                say_finding(finding)

    session.announce, session.closed, session.disagree = found, closed, disagree
    session.announce_for_all = _announce


def _announce(finding: Finding) -> None:
    say(line_of(finding))


def _announce_disagreements(session: Session, folder: Path, told: set[tuple[str, str, int]]) -> None:
    """What the ranks have said so far, side by side. Whoever is late is heard in the final report."""
    report = read_job(folder, session.rules)
    told |= report.said
    for finding in report.findings:
        if finding.key not in session.findings and finding.key not in told and session.selection.shows(finding):
            told.add(finding.key)
            say_finding(finding)
