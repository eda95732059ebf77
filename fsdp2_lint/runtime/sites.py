"""Where in the user's own source we are: frames of torch, the standard library and this tool are left out."""

from __future__ import annotations

import dis
import gc
import os
import sys
import sysconfig
import threading
from collections.abc import Callable
from functools import cache
from types import CodeType, FrameType, TracebackType
from typing import TypeVar

import torch

from ..report.hangs.layers import Layers
from ..vocab.finding import NOWHERE, Moment, Site
from .adapter.frames import frames_from, only_wraps

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_TORCH = os.path.dirname(os.path.abspath(torch.__file__))
LAYERS = Layers(
    _TORCH,
    (_OWN, os.path.join(os.path.dirname(_OWN), "rules")),
    tuple({os.path.realpath(path) for name in ("stdlib", "platstdlib") if (path := sysconfig.get_path(name))}),
)
MAX_STACK = 12
PATIENCE = 1.0  # seconds for another thread that reads the same
_READING = threading.RLock()  # who sets the collector going again has to know whether it was
T = TypeVar("T")
_layer = cache(LAYERS.of)


def is_users(file: str) -> bool:
    """Is it neither torch's nor Python's nor this tool's?"""
    return _layer(file) != "machinery"


def is_of_the_user(file: str) -> bool:
    """Is it the user's own, and of no library?"""
    return _layer(file) == "user"


@cache
def _positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions()) if hasattr(code, "co_positions") else []


@cache
def _site(code: CodeType, offset: int, row: int) -> Site:
    path = os.path.abspath(code.co_filename)
    positions = _positions(code)
    if offset >= 0 and offset // 2 < len(positions):
        first, last, start, end = positions[offset // 2]
        if first is not None and last is not None and start is not None and end is not None:
            return Site(path, first, start + 1, last, end + 1)
    return Site(path, row)


def moment_of(frames: list[tuple[CodeType, int, int]]) -> Moment:
    """From (code, offset, row), innermost first. Libraries count only where there is no code of the user."""
    for layers in (("user",), ("user", "library")):
        if own := [each for each in frames if _layer(each[0].co_filename) in layers]:
            sites = [_site(*each) for each in own]
            return Moment(sites[0], tuple(reversed(sites[1 : MAX_STACK + 1])))
    return Moment(NOWHERE)


def here() -> Moment:
    """Where the user's code stands now.

    Autograd runs parts of backward in threads of its own, in which there is no code of the user:
    then the thread that trains waits for them, and its place counts.
    """
    found = _places(sys._getframe(1))
    if not _trains() and not any(_layer(code.co_filename) == "user" for code, _, _ in found):
        found = _of_training(_places)
    return moment_of(found)


def construction_of(value: object) -> Moment:
    """Where the user's code makes an object whose ``__init__`` runs: not in there, where it calls that of its base."""
    making = [each for each in frames_from(sys._getframe(1)) if _makes(each, value)]
    return moment_of(_places(making[-1].f_back)) if making else here()


def made_by_user(kind: type) -> Moment:
    """Where the user's code makes the outermost object of a kind of which one is being made just now."""
    making = [each for each in frames_from(sys._getframe(1)) if _initialises(each, kind)]
    return moment_of(_places(making[-1].f_back)) if making else here()


def _initialises(frame: FrameType, kind: type) -> bool:
    return frame.f_code.co_name == "__init__" and isinstance(frame.f_locals.get("self"), kind)


def _makes(frame: FrameType, value: object) -> bool:
    return frame.f_code.co_name == "__init__" and frame.f_locals.get("self") is value


Trail = tuple[tuple[CodeType, int, int], ...]
# Code hashes by what it contains, and that takes time; what is known is kept, so no identity comes twice.
_KINDS: dict[int, tuple[CodeType, str]] = {}


def trail(frame: FrameType | None) -> Trail:
    """(code, offset, row) of the frames of the user's own code from here on, innermost first: cheaper than a moment."""
    found = []
    while frame is not None:  # asked for each collective, through dozens of frames of torch
        code = frame.f_code
        kind = (_KINDS.get(id(code)) or _kind(code))[1]
        if kind == "user":
            found.append((code, frame.f_lasti, frame.f_lineno))
        elif kind:
            break
        frame = frame.f_back
    if not found and not _trains():
        return trail_of_training()
    return tuple(found)


def _kind(code: CodeType) -> tuple[CodeType, str]:
    kind = "user" if _layer(code.co_filename) == "user" else "start" if _is_start(code) else ""
    known = _KINDS[id(code)] = (code, kind)
    return known


def users_next(frame: FrameType | None) -> tuple[FrameType | None, int]:
    """The innermost frame of the user's own code from here on, and how far it is; None in a thread that has none."""
    depth = 0
    while frame is not None:
        if kind := (_KINDS.get(id(frame.f_code)) or _kind(frame.f_code))[1]:
            return (frame if kind == "user" else None), depth
        frame, depth = frame.f_back, depth + 1
    return None, depth


def trail_of_training() -> Trail:
    """The same of the thread that trains, where it stands now."""
    return _of_training(_of_user)


def standing() -> tuple[Trail, str, bool]:
    """That, what the user's code called there, and whether it waits in torch for it.

    No frame is left behind: one keeps all alive that its function has in hand, also a model that the script gives up.
    """
    return _of_training(lambda frame: (_of_user(frame), called_from_user(frame), waits_in_torch(frame)))


def _of_user(frame: FrameType | None) -> Trail:
    return tuple(each for each in _places(frame) if _layer(each[0].co_filename) == "user")


def in_background() -> bool:
    """Is this a thread that Python code started beside the one that trains? That one waits for those of autograd."""
    return not _trains() and not _is_foreign(threading.current_thread())


class _Training:
    """The thread that trains: the main one, until a model is sharded, run or stepped in another one."""

    thread = threading.main_thread().ident or 0


def trains_here() -> None:
    """A hook of the training itself runs in this thread. Autograd has threads of its own for what it calls."""
    if not _trains() and not _is_foreign(threading.current_thread()):
        _Training.thread = threading.get_ident()


def training_thread() -> int:
    """Its number, as the interpreter has it."""
    return _Training.thread


def _of_training(read: Callable[[FrameType | None], T]) -> T:
    """What is read off the frame of the thread that trains; of none where another thread does not end reading.

    A thread that has ended trains no more: then the main one waits, or goes on.
    Python 3.11 makes the object of a frame when it is asked for, and may collect garbage meanwhile. What that calls may
    let the other thread go on, and then the object is of a frame that is over: its memory is somebody else's.
    """
    if not _READING.acquire(timeout=PATIENCE):  # for ever in a child that was forked while its parent read
        return read(None)
    collects = gc.isenabled()
    gc.disable()
    try:
        frames = sys._current_frames()
        return read(frames.get(_Training.thread) or frames.get(threading.main_thread().ident or 0))
    finally:
        if collects:
            gc.enable()
        _READING.release()


def _trains() -> bool:
    return threading.get_ident() == _Training.thread


def _is_foreign(thread: threading.Thread) -> bool:
    """Has it been started by something else than Python code?"""
    return thread.name.startswith("Dummy-")


_communicates = cache(LAYERS.communicates)


def waits_in_torch(frame: FrameType | None) -> bool:
    """Has the user's code called something that communicates, and not come back yet?"""
    for each in frames_from(frame):
        if _layer(each.f_code.co_filename) == "user":
            return False
        if _communicates(each.f_code.co_filename):
            return True
    return False


_AROUND = {
    "wrapper",
    "inner_func",
    "_wrapper",
    "_no_grad_wrapper",
    "wrapped",
    "watched",
    "inner",
    "_fn",
    "__call__",
    "watch",
}


def called_from_user(frame: FrameType | None) -> str:
    """What the user's code called that led here, as people write it: ``full_tensor()``, ``forward``."""
    names: list[str] = []
    for each in frames_from(frame):
        if _layer(each.f_code.co_filename) == "user":
            break
        if not each.f_code.co_filename.startswith(_OWN) and not only_wraps(each):
            names.append(each.f_code.co_name)
    if any(name in ("_wrapped_call_impl", "_call_impl") for name in names[-1:]):
        return "forward"
    name = next((name for name in reversed(names) if name not in _AROUND), "")
    return f"{name}()" if name else "a collective"


def _places(frame: FrameType | None) -> list[tuple[CodeType, int, int]]:
    """(code, offset, row) of the frames up to where this tool started the script, innermost first."""
    found = []
    for each in frames_from(frame):
        if _is_start(each.f_code):
            break
        found.append((each.f_code, each.f_lasti, each.f_lineno))
    return found


def _is_start(code: CodeType) -> bool:
    return code.co_name in ("run_script", "run_work") and code.co_filename.startswith(_OWN)


def of_traceback(traceback: TracebackType | None) -> Moment:
    """Where the user's code stood when an exception was raised."""
    found = []
    while traceback is not None:
        if not _is_start(traceback.tb_frame.f_code):
            found.append((traceback.tb_frame.f_code, traceback.tb_lasti, traceback.tb_lineno))
        traceback = traceback.tb_next
    return moment_of(found[::-1])


def users_own(frame: FrameType | None) -> FrameType | None:
    """The next frame outside this tool, if it is code of the user."""
    outside = (each for each in frames_from(frame) if not each.f_code.co_filename.startswith(_OWN + os.sep))
    found = next(outside, None)
    return found if found is not None and _layer(found.f_code.co_filename) == "user" else None


def asking(frame: FrameType | None) -> FrameType | None:
    """The next frame outside this tool, unless it is one of torch or of Python."""
    outside = (each for each in frames_from(frame) if not each.f_code.co_filename.startswith(_OWN + os.sep))
    found = next(outside, None)
    return found if found is not None and is_users(found.f_code.co_filename) else None


def reads_attribute(frame: FrameType) -> bool:
    """Does it execute ``x.name`` right now, rather than a call such as ``getattr(x, "name")``?"""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] in ("LOAD_ATTR", "LOAD_METHOD")


def called_by_torch(frame: FrameType | None) -> bool:
    """Is the next frame outside this tool one of torch itself?"""
    for each in frames_from(frame):
        path = os.path.abspath(each.f_code.co_filename)
        if not path.startswith(_OWN + os.sep):
            return path.startswith(_TORCH + os.sep)
    return False
