"""Runs checks for an editor: one at a time, in a thread, and of each project only the newest that was asked for.

What somebody works on comes first: the file alone, which tells all that is found in it, and then the rest. The
programs that the first came to are kept, so the second does not follow them again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from fsdp2_lint.errors import Refusal
from fsdp2_lint.files.discovery import common_folder
from fsdp2_lint.findings.baseline import Baseline
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.lint import Asked, lint
from fsdp2_lint.settings import settings

T = TypeVar("T")
Input = tuple[Sequence[str], Mapping[str, bytes]]
"""Paths, and what the buffers of the editor hold."""


class _Outdated(BaseException):
    """Nobody waits for this check any more. It is no defect, which would cost a part of the check only."""


class Checks:
    """``look`` says what is to be checked of a project, ``tell`` gets the report, or why there is none.

    ``tell_first`` gets the report on one file of a project, of which more is to come.
    """

    def __init__(
        self,
        look: Callable[[str], Input],
        tell: Callable[[str, Report | str], None],
        tell_first: Callable[[str, str, Report], None],
    ) -> None:
        self._look = look
        self._tell = tell
        self._tell_first = tell_first
        self._touched: dict[str, str] = {}  # the file of each project that was changed last
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._waiting: dict[str, None] = {}  # a set that keeps its order
        self._worker: asyncio.Task[None] | None = None

    def request(self, project: str, delay: float = 0.0, touched: str | None = None) -> None:
        """Check a project when nothing more was asked of it for ``delay`` seconds; what was ``touched`` comes first."""
        if touched is not None:
            self._touched[project] = touched
        if timer := self._timers.pop(project, None):
            timer.cancel()
        self._timers[project] = asyncio.get_running_loop().call_later(delay, self._due, project)

    def outdated(self, project: str) -> bool:
        """Has something changed since the check that is running? Every change asks for a new one."""
        return project in self._timers or project in self._waiting

    def _due(self, project: str) -> None:
        del self._timers[project]
        self._waiting[project] = None
        if self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        try:
            while self._waiting:
                project = next(iter(self._waiting))
                del self._waiting[project]
                paths, overlay = self._look(project)
                await self._check_first(project, paths, overlay)
                if self.outdated(project):
                    continue
                said = await _in_thread(partial(self._check, project, paths, overlay, paths))
                if said is not None and not self.outdated(project):
                    self._tell(project, said)
        finally:
            self._worker = None

    async def _check_first(self, project: str, paths: Sequence[str], overlay: Mapping[str, bytes]) -> None:
        touched = self._touched.pop(project, None)
        if touched in overlay and touched is not None and [*paths] != [touched]:
            said = await _in_thread(partial(self._check, project, [touched], overlay, paths))
            if isinstance(said, Report) and not self.outdated(project):
                self._tell_first(project, touched, said)

    def _check(
        self, project: str, paths: Sequence[str], overlay: Mapping[str, bytes], whole: Sequence[str]
    ) -> Report | str | None:
        """Check some ``paths``, as the settings of the ``whole`` want it."""

        def progress(_: str) -> None:
            if self.outdated(project):
                raise _Outdated

        if not paths:
            return Report()  # the last of its files was closed
        try:
            return lint(paths, _asked(whole), overlay=overlay, progress=progress)
        except _Outdated:
            return None
        except Refusal as refusal:
            return str(refusal)
        except Exception as error:  # a defect costs this check, not the server
            return f"internal error: {type(error).__name__}: {error}"


def _asked(paths: Sequence[str]) -> Asked:
    """What the command line would ask for, without options."""
    given = settings(common_folder(paths))
    baseline = Baseline.read(given.path(given.baseline)) if given.baseline is not None else None
    # An open file is named, and yet the editor's user did not choose it against the project's settings.
    return Asked(settings=given, baseline=baseline, force_exclude=True, confined=True, cache=True)


async def _in_thread(work: Callable[[], T]) -> T:
    """Not by an executor: Python waits for its threads at the end, and an editor that closes does not."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        result = work()
        try:
            loop.call_soon_threadsafe(deliver, result)
        except RuntimeError:
            pass  # the server has ended

    def deliver(result: T) -> None:
        if not future.done():
            future.set_result(result)

    threading.Thread(target=run, name="fsdp2-lint check", daemon=True).start()
    return await future
