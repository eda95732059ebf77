"""When an editor gets its answers: time is made up here, and what a check takes is said."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")

from lsprotocol import types
from pygls import progress as pygls_progress

from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.servers import checks, threads
from fsdp2_lint.servers.checks import LONGEST, Checks
from fsdp2_lint.servers.progress import Progress
from tests.servers.editor import scenario

PAUSE = 0.5


class Desk:
    """Somebody who edits one file; each text is a number. A check takes so many seconds."""

    def __init__(self, folder: Path, takes: float, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file = str(folder / "train.py")
        self.takes, self.now, self.text = takes, 0.0, 0
        self.told: list[tuple[float, int]] = []
        self.given_up: list[int] = []
        self.most = 0.0
        self._running = False
        self._looks = 0
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: self.now)
        monkeypatch.setattr(checks, "lint", self._lint)
        self.checks = Checks(self._look, self._tell, lambda *told: None, lambda *told: None, lambda program: None)

    def _look(self, project: str) -> tuple[Sequence[str], Mapping[str, bytes]]:
        return [self.file], {self.file: str(self.text).encode()}

    def _tell(self, project: str, said: Report | str) -> None:
        assert isinstance(said, Report)
        self.told.append((self.now, int(said.root)))

    def _lint(
        self, paths: Sequence[str], *rest: Any, overlay: Mapping[str, bytes], look: Callable[[], None], **more: Any
    ) -> Report:
        self._running, end = True, self.now + self.takes
        text = overlay[self.file].decode()
        try:
            while True:
                look()
                self._looks += 1
                if self.now >= end:
                    return Report(root=text)
        except BaseException:
            self.given_up.append(int(text))
            raise
        finally:
            self._running = False

    async def wait(self, seconds: float) -> None:
        """In small steps; in each, whatever is due happens."""
        end = self.now + seconds
        while self.now < end - 1e-9:
            self.now += 0.1
            await self._settle()

    async def _settle(self) -> None:
        """Until the check that runs has looked about, or has ended and its answer has come."""
        seen = self._looks
        for _ in range(20):
            await asyncio.sleep(0)  # what is due begins
        while any(thread.name == threads.NAME for thread in threading.enumerate()):
            if self._running and self._looks >= seen + 3:
                break
            await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.sleep(0)  # what has come is told

    async def type(self, pause: float) -> None:
        self.text += 1
        self.checks.request("project", PAUSE, self.file)
        await self.wait(pause)


@scenario
async def test_a_change_ends_the_check_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path, 1.0, monkeypatch)
    await desk.type(0.8)
    assert not desk.told and not desk.given_up
    await desk.type(0.3)
    assert desk.given_up == [1]
    await desk.wait(3.0)
    assert [text for _, text in desk.told] == [2]


@scenario
async def test_what_is_cancelled_ends_and_is_not_owed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path, 5.0, monkeypatch)
    await desk.type(1.0)
    desk.checks.cancel()
    await desk.wait(20.0)
    assert desk.given_up == [1] and not desk.told
    desk.takes = 0.2
    await desk.type(2.0)
    assert [text for _, text in desk.told] == [2], "what comes next is checked as ever"


class Screen:
    """The side of pygls to which progress is told."""

    def __init__(self) -> None:
        window = types.WindowClientCapabilities(work_done_progress=True)
        self.client_capabilities = types.ClientCapabilities(window=window)
        self.work_done_progress = pygls_progress.Progress(self)  # type: ignore[arg-type]
        self.shown: list[Any] = []

    async def send_request_async(self, method: str, params: object) -> None: ...

    def notify(self, method: str, params: types.ProgressParams) -> None:
        self.shown.append(params.value)


@scenario
async def test_the_progress_that_is_cancelled_ends_its_own_check(tmp_path: Path) -> None:
    screen, ended = Screen(), list[int]()
    progress = Progress(screen, lambda: ended.append(1))  # type: ignore[arg-type]
    for number in (1, 2):
        progress.tell("train.py")
        while len(screen.shown) < 2:
            await asyncio.sleep(0)
        assert screen.shown[0].cancellable
        (future,) = screen.work_done_progress.tokens.values()
        if number == 2:
            progress.tell(None)  # the check has ended before the word of the editor comes
        future.cancel()
        assert ended == [1]
        progress.tell(None)
        while screen.work_done_progress.tokens:
            await asyncio.sleep(0)
        screen.shown.clear()


@pytest.mark.quick(1)
@pytest.mark.parametrize(("pause", "takes"), [(0.3, 0.1), (0.3, 2.0), (0.8, 5.0)])
@scenario
async def test_who_never_stops_to_type_gets_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pause: float, takes: float
) -> None:
    desk = Desk(tmp_path, takes, monkeypatch)
    while desk.now < 40.0:
        await desk.type(pause)
    during = [*desk.told]
    assert during, "nothing was told"
    between = [after - before for (before, _), (after, _) in zip([(0.0, 0), *during], [*during, (desk.now, 0)])]
    assert max(between) <= LONGEST + takes + 1.0
    texts = [text for _, text in during]
    assert texts == sorted(set(texts)), "what is newer is told later"
    await desk.wait(PAUSE + 2 * takes + 1.0)
    assert desk.told[-1][1] == desk.text, "in the end it is the newest text that counts"


@scenario
async def test_who_stops_now_and_then_is_told_nothing_of_half_typed_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, 0.2, monkeypatch)
    lines = []
    for _ in range(5):
        for _ in range(4):
            await desk.type(0.2)
        lines.append(desk.text)
        await desk.wait(2.0)
    assert [text for _, text in desk.told] == lines
