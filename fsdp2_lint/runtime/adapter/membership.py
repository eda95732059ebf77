"""Which rank this process is: as its process group says, and before there is one as its launcher does."""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import uuid4

import torch.distributed as dist

from .probe import rehearsal_token, store

# Rank, number of ranks, and what has to be set for the two to be about this process: a batch script of Slurm has the
# number of tasks of the whole allocation, and is none of them.
_LAUNCHERS = (("RANK", "WORLD_SIZE", "RANK"), ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"))


class Membership(NamedTuple):
    """``token`` is the same on all ranks of a process group, and on no others; empty where it could not be agreed."""

    rank: int
    world_size: int
    token: str


_asked: Counter[str] = Counter()
_last: list[Membership] = []  # what the group said stays true after its end


def claimed() -> tuple[int, int]:
    """The rank of this process, and how many there are, as the environment has it: 0 of 1 where it says nothing."""
    for rank, ranks, needed in _LAUNCHERS:
        if os.environ.get(needed):
            return _number(rank, 0), _number(ranks, 1)
    return 0, 1


def _number(name: str, otherwise: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else otherwise


def membership() -> Membership | None:
    """What the default process group says of this process, once there is one. It asks the store, and nobody waits."""
    if not dist.is_initialized():
        return None
    token = _token()
    _asked[token] += 1  # each watched stretch is one of its own, and all ranks have as many
    told = Membership(dist.get_rank(), dist.get_world_size(), token and f"{token}.{_asked[token]}")
    _last[:] = [told]
    return told


def _token() -> str:
    """Whoever comes first writes it."""
    if rehearsal_token():
        return rehearsal_token()
    with suppress(Exception):  # not every store can do this, and a job without it is a job
        if (kept := store()) is not None:
            said: bytes = kept.compare_set("job", "", uuid4().hex)
            return said.decode()
    return ""


def own() -> Membership:
    """What is known of this process in the job by now."""
    if dist.is_initialized():
        return Membership(dist.get_rank(), dist.get_world_size(), _last[0].token if _last else "")
    return _last[0] if _last else Membership(*claimed(), "")


def is_member() -> bool:
    """Is this process in the job's process group, or was it?"""
    return bool(_last) or dist.is_initialized()


def own_rank() -> int:
    """This process's rank in the job."""
    return own().rank


def all_ranks() -> int:
    """How many ranks the job has."""
    return own().world_size


def group_made() -> list[tuple[Any, str]]:
    """The names of the function that runs when a default process group has been made, whoever asked for it."""
    c10d = sys.modules["torch.distributed.distributed_c10d"]
    if hasattr(c10d, "_update_default_pg"):
        return [(c10d, "_update_default_pg")]
    return [(dist, "init_process_group"), (c10d, "init_process_group")]
