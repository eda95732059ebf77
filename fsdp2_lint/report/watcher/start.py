"""Starts the watcher of this node, unless there is one already."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..hangs.layers import Layers, layers_as_json

# Nothing of the user's is on its path, and no third-party package.
_CODE = """\
import sys
root, given = sys.argv[1:]
sys.path.insert(0, root)
import fsdp2_lint
sys.path.pop(0)
from fsdp2_lint.report.watcher.loop import main
main(given)
"""
_ROOT = Path(__file__).absolute().parents[3]


def start(folder: Path, layers: Layers, **asked: Any) -> None:
    """``folder`` has the heartbeats of this node's ranks. OSError, or ImportError, where it cannot be started.

    It is elected by a lock that it holds as long as it lives. ``asked``: ``patience`` in seconds, the codes to
    ``select`` and to ``ignore``, and whether to ``watch`` what the ranks issue.
    """
    import fcntl

    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _start({"folder": str(folder), "layers": layers_as_json(layers), **asked}, lock)
    except BlockingIOError:
        pass  # this node has one
    finally:
        os.close(lock)


def _start(given: dict[str, Any], lock: int) -> None:
    """It goes its own way at once: it must not be what a script meets that waits for its children."""
    command = [sys.executable or "python", "-I", "-S", "-c", _CODE, str(_ROOT), json.dumps(given)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=(lock,),
        cwd="/",
    )
    if code := process.wait():
        raise OSError(f"{command[0]} ended with {code}")
