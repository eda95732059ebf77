"""Tells an editor what is being looked at, while it waits for what is found."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

    Things = asyncio.Queue[str | None]


class Progress:
    """One progress for each check that has to look at something anew, if the editor has a place to show it.

    ``cancel`` ends the check that runs.
    """

    def __init__(self, server: LanguageServer, cancel: Callable[[], None]) -> None:
        self._server = server
        self._cancel = cancel
        self._names = count(1)
        self._things: Things | None = None  # of the check that runs
        self._shown: set[asyncio.Task[None]] = set()  # of which the loop alone would lose some

    def tell(self, thing: str | None) -> None:
        """What is looked at next, such as a program; None: the check has ended."""
        if thing is None:
            if self._things is not None:
                self._things.put_nowait(None)
            self._things = None
        elif get_capability(self._server.client_capabilities, "window.work_done_progress", False):
            if self._things is None:
                self._things = asyncio.Queue()
                task = asyncio.get_running_loop().create_task(self._show(self._things))
                self._shown.add(task)
                task.add_done_callback(self._shown.discard)
            self._things.put_nowait(thing)

    async def _show(self, things: Things) -> None:
        progress, token = self._server.work_done_progress, f"fsdp2-lint-{next(self._names)}"
        try:
            await progress.create_async(token)
        except JsonRpcException:
            return  # the editor does not want it after all
        progress.tokens[token].add_done_callback(lambda done: self._cancelled(things))  # done is only what is cancelled
        progress.begin(token, types.WorkDoneProgressBegin("fsdp2-lint", cancellable=True))
        while (thing := await things.get()) is not None:
            progress.report(token, types.WorkDoneProgressReport(message=os.path.basename(thing)))
        progress.end(token, types.WorkDoneProgressEnd())
        progress.tokens.pop(token, None)

    def _cancelled(self, things: Things) -> None:
        if things is self._things:  # else the check has ended meanwhile, and another may run
            self._cancel()
