"""Tells an editor which programs are followed, while it waits for what is found."""

from __future__ import annotations

import asyncio
import os
from itertools import count
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

    Programs = asyncio.Queue[str | None]


class Progress:
    """One progress for each check that has to follow something, if the editor has a place to show it."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._names = count(1)
        self._programs: Programs | None = None  # of the check that runs
        self._shown: set[asyncio.Task[None]] = set()  # of which the loop alone would lose some

    def tell(self, program: str | None) -> None:
        """``program`` is followed next; None: the check has ended."""
        if program is None:
            if self._programs is not None:
                self._programs.put_nowait(None)
            self._programs = None
        elif get_capability(self._server.client_capabilities, "window.work_done_progress", False):
            if self._programs is None:
                self._programs = asyncio.Queue()
                task = asyncio.get_running_loop().create_task(self._show(self._programs))
                self._shown.add(task)
                task.add_done_callback(self._shown.discard)
            self._programs.put_nowait(program)

    async def _show(self, programs: Programs) -> None:
        progress, token = self._server.work_done_progress, f"fsdp2-lint-{next(self._names)}"
        try:
            await progress.create_async(token)
        except JsonRpcException:
            return  # the editor does not want it after all
        progress.begin(token, types.WorkDoneProgressBegin("fsdp2-lint", cancellable=False))
        number = 0
        while (program := await programs.get()) is not None:
            number += 1
            message = f"program {number}: {os.path.basename(program)}"
            progress.report(token, types.WorkDoneProgressReport(message=message))
        progress.end(token, types.WorkDoneProgressEnd())
        progress.tokens.pop(token, None)
