"""Work beside an event loop. Not by an executor: Python waits for its threads at the end, and a client does not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")
NAME = "fsdp2-lint check"


async def in_thread(work: Callable[[], T]) -> T:
    """What ``work`` gives or raises, in a thread that ends with the process."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def deliver(result: T) -> None:
        if not future.done():
            future.set_result(result)

    def fail(error: BaseException) -> None:
        if not future.done():
            future.set_exception(error)

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # handed over to the loop
            from_thread(loop, fail, error)
        else:
            from_thread(loop, deliver, result)

    threading.Thread(target=run, name=NAME, daemon=True).start()
    return await future


def from_thread(loop: asyncio.AbstractEventLoop, tell: Callable[[T], object], what: T) -> None:
    """Call ``tell`` in the loop, if there still is one."""
    with suppress(RuntimeError):  # the server has ended
        loop.call_soon_threadsafe(tell, what)
