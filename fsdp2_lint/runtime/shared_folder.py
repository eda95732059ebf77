"""A folder for the reports of a stretch that nobody named one for: the ranks compare their collectives in it."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
from pathlib import Path

import torch.distributed as dist

from ..report.job import read_job
from ..report.rank_file import rank_files
from ..vocab.finding import Finding
from . import adapter
from .agreement.exchange import PATIENCE
from .session import Session

_number = itertools.count()
COMPARED = ("turn", "stall")  # what the ranks write down, and do not send each other


def agree_on_folder() -> Path | None:
    """The same for all ranks of a machine; None where there is one rank, no process group yet, or no answer in time.

    Rank 0 makes one and says so in the job's store. Other machines get a folder of that name for themselves.
    """
    store = adapter.store()
    if store is None or dist.get_world_size() < 2:
        return None
    key = f"folder/{next(_number)}"
    try:
        if dist.get_rank() == 0:
            store.set(key, tempfile.mkdtemp(prefix="fsdp2-lint-"))
        store.wait([key], PATIENCE)
        folder = Path(store.get(key).decode())
        folder.mkdir(mode=0o700, exist_ok=True)
    except (RuntimeError, OSError):  # torch's timeouts and lost connections are runtime errors
        return None
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def leave(folder: Path) -> None:
    """Each rank says so once it has read what it wanted: the last one of this machine takes the folder away."""
    try:
        (folder / f"left{dist.get_rank() if dist.is_initialized() else os.getpid()}").touch()
        if len(list(folder.glob("left*"))) == len(rank_files(folder)):
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        pass  # another one has just done it, or it goes with the process


def compared(session: Session, folder: Path) -> list[tuple[int, Finding]]:
    """What the reports of this machine's ranks say together of collectives and of hangs."""
    codes = {rule.code for rule in session.rules if rule.compares in COMPARED}
    try:
        found = read_job(folder, session.rules).findings
    except OSError:
        return []
    return [(each.observed.ranks[0] if each.observed else 0, each) for each in found if each.code in codes]
