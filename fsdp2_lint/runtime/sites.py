"""Where in the user's own source we are: frames of torch, the standard library and this tool are left out."""

from __future__ import annotations

import dis
import os
import sys
import sysconfig
import threading
from functools import cache
from types import CodeType, FrameType, TracebackType

import torch

from ..vocab.finding import Moment, Site
from .adapter.frames import frames_from

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_TORCH = os.path.dirname(os.path.abspath(torch.__file__))
_STDLIB = {os.path.realpath(path) for name in ("stdlib", "platstdlib") if (path := sysconfig.get_path(name))}
_LIBRARIES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
MAX_STACK = 12


@cache
def _layer(file: str) -> str:
    """Whose code a file is: ``user``, ``library``, or ``machinery`` that never is the place of a finding."""
    if file.startswith("<"):
        return "machinery"
    path = os.path.abspath(file)
    rules = os.path.join(os.path.dirname(_OWN), "rules")
    if any(path.startswith(folder + os.sep) for folder in (_OWN, _TORCH, rules)):
        return "machinery"
    if any(part in path for part in _LIBRARIES):
        return "library"
    real = os.path.realpath(path)
    return "machinery" if any(real.startswith(folder + os.sep) for folder in _STDLIB) else "user"


def is_users(file: str) -> bool:
    """Is it neither torch's nor Python's nor this tool's?"""
    return _layer(file) != "machinery"


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
    return Moment(Site("<unknown>", 1))


def here() -> Moment:
    """Where the user's code stands now.

    Autograd runs parts of backward in threads of its own, in which there is no code of the user:
    then the main thread waits for them, and its place counts.
    """
    found = _places(sys._getframe(1))
    if threading.current_thread() is not threading.main_thread() and not any(
        _layer(code.co_filename) == "user" for code, _, _ in found
    ):
        found = _places(main_frame())
    return moment_of(found)


Trail = tuple[tuple[CodeType, int, int], ...]
# Code hashes by what it contains, and that takes time; what is known is kept, so no identity comes twice.
_KINDS: dict[int, tuple[CodeType, str]] = {}


def trail(frame: FrameType | None) -> Trail:
    """(code, offset, row) of the frames of the user's own code from here on, innermost first: cheaper than a moment."""
    found = []
    while frame is not None:  # asked for each collective, through dozens of frames of torch
        code = frame.f_code
        known = _KINDS.get(id(code))
        if known is None:
            kind = "user" if _layer(code.co_filename) == "user" else "start" if _is_start(code) else ""
            known = _KINDS[id(code)] = (code, kind)
        if known[1] == "user":
            found.append((code, frame.f_lasti, frame.f_lineno))
        elif known[1]:
            break
        frame = frame.f_back
    if not found and threading.current_thread() is not threading.main_thread():
        return trail_of_main()
    return tuple(found)


def trail_of_main() -> Trail:
    """The same of the main thread, where it stands now."""
    return tuple(each for each in _places(main_frame()) if _layer(each[0].co_filename) == "user")


def in_background() -> bool:
    """Is this a thread that Python code started? Those of autograd work while the main thread waits for them."""
    thread = threading.current_thread()
    return thread is not threading.main_thread() and not thread.name.startswith("Dummy-")


def main_frame() -> FrameType | None:
    return sys._current_frames().get(threading.main_thread().ident or 0)


_DISTRIBUTED = os.path.join(_TORCH, "distributed") + os.sep


def waits_in_torch(frame: FrameType | None) -> bool:
    """Has the user's code called something that communicates, and not come back yet?"""
    for each in frames_from(frame):
        if _layer(each.f_code.co_filename) == "user":
            return False
        if os.path.abspath(each.f_code.co_filename).startswith(_DISTRIBUTED):
            return True
    return False


_AROUND = {"wrapper", "_wrapper", "wrapped", "watched", "inner", "decorate_context", "_fn", "__call__", "watch"}


def called_from_user(frame: FrameType | None) -> str:
    """What the user's code called that led here, as people write it: ``full_tensor()``, ``forward``."""
    names: list[str] = []
    for each in frames_from(frame):
        if _layer(each.f_code.co_filename) == "user":
            break
        if not each.f_code.co_filename.startswith(_OWN):
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
    return code.co_name == "run_script" and code.co_filename.startswith(_OWN)


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
