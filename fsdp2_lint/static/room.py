"""Room for an analysis that follows calls by recursion: the thread's stack, and where Python keeps its frames."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

_STACK = 512 * 1024 * 1024  # bytes that the thread may take
_RECURSION = 40_000  # calls in calls
_FRAMES = 1_100_000  # slots of 8 bytes: the block that holds them, 16 MiB, has as much again for the frames behind it


def with_room(work: Callable[[], None]) -> None:
    """Run it in a thread that may go as deep as programs do. What it raises, its caller gets."""
    ended: list[BaseException | None] = []

    def caught() -> None:
        try:
            work()
        except BaseException as error:  # handed over to the caller's thread
            ended.append(error)
        else:
            ended.append(None)

    limit, size = sys.getrecursionlimit(), threading.stack_size(_STACK)
    sys.setrecursionlimit(max(limit, _RECURSION))
    try:
        thread = threading.Thread(target=in_one_block(caught), name="fsdp2-lint")
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if not ended:  # else the analysis would have found nothing
        raise MemoryError("there is no memory for the frames of the analysis")
    if ended[0] is not None:
        raise ended[0]


def in_one_block(work: Callable[[], None]) -> Callable[[], None]:
    """The same, with the frames of all that it calls in one block of memory.

    Python (since 3.11) keeps frames in blocks of 16 KiB, and gives a block back as soon as its last frame is done. A
    loop of calls that happens to begin at the end of one asks the system for memory at each call, and with recursion
    there is always such a loop: it took a fifth of the time. A frame that needs a larger block gets one, and the next
    frames lie behind it. Pages that nobody writes to cost nothing.
    """

    def roomy() -> None:
        work()

    roomy.__code__ = roomy.__code__.replace(co_stacksize=_FRAMES)
    return roomy
