"""Runs a script of the user's under hooks, as torchrun would run it."""

from __future__ import annotations

import sys
from pathlib import Path

from ...report.folders import inherit
from ...report.outcome import ABNORMAL
from ..session import Options
from ..sites import is_users
from . import children
from .program import NoSuchModule, Program
from .watch import NoReport, Plan, Watch, say

__all__ = ["NoReport", "NoSuchModule", "Program", "run_script"]


def run_script(program: Program, options: Options, folder: Path, *, live: bool) -> int:
    """Run a program as ``__main__``; the exit code that Python would end with.

    ``folder`` is that of the job. An exception of the program is recorded, explained where it is
    one of torch's, and shown as Python shows it. ``live``: rank 0 says on stderr what it finds as
    soon as it finds it. :class:`NoSuchModule` where there is no such program.
    """
    inherit()
    plan = Plan(program, options, folder, live)
    watch = Watch(plan)
    program.prepare()
    watch.begin()
    children.watch_children(watch.session, plan)
    code = 0
    try:
        program.execute()
    except SystemExit as leave:
        code = _code(leave)
    except NoSuchModule:
        watch.end(ABNORMAL)
        raise
    except BaseException as error:
        code = 130 if isinstance(error, KeyboardInterrupt) else 1
        meaning = watch.crashed(error)
        _show(error)
        if meaning:
            say(meaning)
    return watch.end(code)


def _show(error: BaseException) -> None:
    """The traceback as Python prints it, from the script's first frame on."""
    traceback = error.__traceback__
    while traceback is not None and not is_users(traceback.tb_frame.f_code.co_filename):
        traceback = traceback.tb_next
    sys.excepthook(type(error), error.with_traceback(traceback or error.__traceback__), traceback)


def _code(leave: SystemExit) -> int:
    if leave.code is None:
        return 0
    if isinstance(leave.code, int):
        return leave.code
    print(leave.code, file=sys.stderr)  # as Python does with anything else
    return 1
