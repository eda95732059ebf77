"""Runs checks for an editor: one at a time, in a thread, and of each project only the newest that was asked for.

What somebody works on comes first: the file alone, which tells all that is found in it, and then the rest. The
programs that the first came to are kept, so the second does not follow them again.

A change puts off the next check and ends the one that runs, since nobody wants to know what a half-typed line means.
But whoever never stops to type gets an answer too: one that is owed for long is worked out to its end.
What a person cancels ends likewise, and nothing is owed of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from fsdp2_lint.errors import Refusal
from fsdp2_lint.files.discovery import common_folder
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.baseline import Baseline
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.lint import Early, lint
from fsdp2_lint.servers.threads import from_thread, in_thread
from fsdp2_lint.settings import settings
from fsdp2_lint.static.frontend.trees import Trees
from fsdp2_lint.static.garbage import by_hand, sweep

LONGEST = 3.0  # seconds for which changes may put off the answer to the first of them
_TICK = 0.05  # a timer may come so much too early
Input = tuple[Sequence[str], Mapping[str, bytes]]
"""Paths, and what the buffers of the editor hold."""


class _Outdated(BaseException):
    """Nobody waits for this check any more. It is no defect, which would cost a part of the check only."""


class Checks:
    """``look`` says what is to be checked of a project, ``tell`` gets the report, or why there is none.

    ``tell_first`` gets the report on one file of a project, of which more is to come, and ``tell_early`` what is found
    so far in a file, of which even more is to come. ``busy`` is told each program
    that has to be followed, and None when a check has ended.
    """

    def __init__(
        self,
        look: Callable[[str], Input],
        tell: Callable[[str, Report | str], None],
        tell_first: Callable[[str, str, Report], None],
        tell_early: Callable[[str, str, Report], None],
        busy: Callable[[str | None], None],
    ) -> None:
        self._look = look
        self._tell = tell
        self._tell_first = tell_first
        self._tell_early = tell_early
        self._busy = busy
        self._touched: dict[str, str] = {}  # the file of each project that was changed last
        self._owed: dict[str, float] = {}  # when the first change of each project came that nothing was told of
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._waiting: dict[str, None] = {}  # a set that keeps its order
        self._worker: asyncio.Task[None] | None = None
        self._cancelled = False
        self._trees = Trees()

    def request(self, project: str, delay: float = 0.0, touched: str | None = None) -> None:
        """Check a project when nothing more was asked of it for ``delay`` seconds; what was ``touched`` comes first."""
        if touched is not None:
            self._touched[project] = touched
        if timer := self._timers.pop(project, None):
            timer.cancel()
        loop = asyncio.get_running_loop()
        latest = self._owed.setdefault(project, loop.time()) + LONGEST
        self._timers[project] = loop.call_at(min(loop.time() + delay, latest), self._due, project)

    def cancel(self) -> None:
        """End the check that runs. What was told stands until something asks for the next one."""
        self._cancelled = True

    def outdated(self, project: str) -> bool:
        """Has something changed since the check that is running? Every change asks for a new one."""
        return project in self._timers or project in self._waiting

    def _due(self, project: str) -> None:
        del self._timers[project]
        self._waiting[project] = None
        if self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        now = asyncio.get_running_loop().time
        try:
            while self._waiting:
                project = next(iter(self._waiting))
                del self._waiting[project]
                self._cancelled = False
                since = self._owed.pop(project, now())
                if not await self._answer(project, now() - since >= LONGEST - _TICK) and not self._cancelled:
                    self._owed[project] = since
                self._busy(None)
                if not self._waiting:
                    sweep()  # the editor has its answer
        finally:
            self._worker = None

    async def _answer(self, project: str, overdue: bool) -> bool:
        """Tell what is found in the file that was changed, if that is one of several, and then all.

        Is anything told? What is ``overdue`` is told although something has changed meanwhile.
        """
        paths, overlay = self._look(project)
        touched, told = self._touched.pop(project, None), False
        if touched not in overlay:
            touched = None
        if touched is not None and [*paths] != [touched]:
            with by_hand():  # nothing is collected before the editor has its answer
                said = await self._checked(project, [touched], overlay, paths, touched, overdue=overdue)
                if told := isinstance(said, Report):
                    self._tell_first(project, touched, said)
            if self._unwanted(project, overdue=False):
                self._touched.setdefault(project, touched)
                return told
        if (
            said := await self._checked(project, paths, overlay, paths, touched, overdue=overdue and not told)
        ) is not None:
            self._tell(project, said)
        return told or said is not None

    async def _checked(
        self,
        project: str,
        paths: Sequence[str],
        overlay: Mapping[str, bytes],
        whole: Sequence[str],
        touched: str | None,
        *,
        overdue: bool,
    ) -> Report | str | None:
        """Check some ``paths``, as the settings of the ``whole`` want it. None if nobody waits for it any more."""
        loop = asyncio.get_running_loop()

        def look() -> None:
            if self._unwanted(project, overdue=overdue):
                raise _Outdated

        def tell(report: Report) -> None:
            if touched is not None and not self._unwanted(project, overdue=overdue):
                self._tell_early(project, touched, report)

        def check() -> Report | str | None:
            if not paths:
                return Report()  # the last of its files was closed
            try:
                busy = partial(from_thread, loop, self._busy)
                early = Early(touched, partial(from_thread, loop, tell)) if touched is not None else None
                return lint(
                    paths,
                    _asked(whole),
                    overlay=overlay,
                    progress=busy,
                    look=look,
                    early=early,
                    trees=self._trees,
                )
            except _Outdated:
                return None
            except Refusal as refusal:
                return str(refusal)
            except Exception as error:  # a defect costs this check, not the server
                return f"internal error: {type(error).__name__}: {error}"

        said = await in_thread(check)
        return None if self._unwanted(project, overdue=overdue) else said

    def _unwanted(self, project: str, *, overdue: bool) -> bool:
        """Does nobody wait for the check that runs?"""
        return self._cancelled or not overdue and self.outdated(project)


def _asked(paths: Sequence[str]) -> Asked:
    """What the command line would ask for, without options."""
    given = settings(common_folder(paths))
    # An open file is named, and yet the editor's user did not choose it against the project's settings.
    return Asked(settings=given, baseline=Baseline.set_in(given, paths), force_exclude=True, confined=True, cache=True)
