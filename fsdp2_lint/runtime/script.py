"""Runs a script of the user's under hooks, as torchrun would run it."""

from __future__ import annotations

import functools
import gc
import io
import os
import sys
import types
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path

from ..report.job import read_job
from ..report.rank_file import RankFile
from ..vocab.finding import Finding
from . import adapter
from .crashes import crash
from .monitors import install
from .monitors.forward import closing
from .session import Options, Session
from .sites import is_users
from .stall import StallWatch


def run_script(script: str, arguments: Sequence[str], options: Options, folder: Path, *, live: bool) -> int:
    """Run ``script`` as ``__main__``; the exit code that Python would end with.

    An exception of the script is recorded, explained where it is one of torch's, and shown as
    Python shows it. ``live``: rank 0 says on stderr what it finds as soon as it finds it.
    """
    session = open_session(options, folder, script)
    if live and adapter.own_rank() == 0:
        session.announce = _announce
        session.closed = functools.partial(_announce_disagreements, session, folder, set())
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.realpath(script))
    install(session)
    stalls = StallWatch(session, session.closed)
    stalls.start()
    code = 0
    try:
        _execute(script)
    except SystemExit as leave:
        code = _code(leave)
    except BaseException as error:
        code = 130 if isinstance(error, KeyboardInterrupt) else 1
        stalls.stop()  # whoever waited has been thrown out, and did not go on
        note_crash(session, error)
    stalls.stop()
    return close_session(session, code)


def _execute(script: str) -> None:
    """What ``python script`` does; runpy would change ``sys.argv[0]`` and clear the module in the end."""
    path = os.path.abspath(script)
    main = types.ModuleType("__main__")
    main.__file__, main.__loader__ = path, SourceFileLoader("__main__", path)
    main.__dict__["__cached__"] = None
    sys.modules["__main__"] = main  # to the end: threads and exit handlers of the script outlive it
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, vars(main))


def _show(error: BaseException) -> None:
    """The traceback as Python prints it, from the script's first frame on."""
    traceback = error.__traceback__
    while traceback is not None and not is_users(traceback.tb_frame.f_code.co_filename):
        traceback = traceback.tb_next
    sys.excepthook(type(error), error.with_traceback(traceback or error.__traceback__), traceback)


def _announce(finding: Finding) -> None:
    site = finding.primary.site
    head = f"{site}: {finding.code} {finding.severity.value} {finding.message} [{finding.name}]"
    print(f"fsdp2-lint: {head}", file=sys.stderr, flush=True)


def _announce_disagreements(session: Session, folder: Path, told: set[tuple[str, str, int]]) -> None:
    """What the ranks have said so far, side by side. Whoever is late is heard in the final report."""
    for finding in read_job(folder, session.rules).findings:
        if finding.key not in session.findings and finding.key not in told and session.selection.shows(finding):
            told.add(finding.key)
            _announce(finding)
            for label in finding.related:
                print(f"  {label.site}: {label.message}", file=sys.stderr, flush=True)


def open_session(options: Options, folder: Path, script: str = "") -> Session:
    """A session that reports to ``folder``; OSError where that cannot be written."""
    attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    return Session(RankFile(folder, adapter.own_rank(), attempt), options, script)


def note_crash(session: Session, error: BaseException) -> None:
    """Write down what ended the script, show it, and say on stderr what it means."""
    meaning = crash.explain(session, error)
    _show(error)
    words = {"code": meaning.code, "why": meaning.why, "fix": meaning.fix} if meaning is not None else {}
    if meaning is not None:
        print(f"fsdp2-lint: {meaning.code}: {meaning.why}\n  fix: {meaning.fix}", file=sys.stderr, flush=True)
    session.file.write("crash", error=f"{type(error).__name__}: {error}"[:2000], **words)


def close_session(session: Session, code: int) -> int:
    """End the watch; the exit code. Finding something in the end is a failure where findings are to be raised."""
    found = len(session.findings)
    closing.finish(session, code)
    # Reference cycles that hold a process group to the end of the process let gloo abort there.
    gc.collect()
    late = list(session.findings.values())[found:]
    if code == 0 and session.options.on_finding == "raise" and any(each.severity.value == "error" for each in late):
        return 1
    return code


def _code(leave: SystemExit) -> int:
    if leave.code is None:
        return 0
    if isinstance(leave.code, int):
        return leave.code
    print(leave.code, file=sys.stderr)  # as Python does with anything else
    return 1
