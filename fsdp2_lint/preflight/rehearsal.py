"""The rehearsal of a job at several sizes: one process after another, each of which plays one rank."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from multiprocessing import util
from pathlib import Path
from typing import Any
from uuid import uuid4

from ..report.rank_file import rank_files, records
from .attending import attend, leave_last_words
from .part import Asked, Part, Place, Script


# -- which ranks are rehearsed: one of each class in which scripts tell ranks apart
def chosen_ranks(world_size: int, per_node: int) -> tuple[int, ...]:
    """The first rank and its neighbour, the first of the second node, one in the middle, and the last.

    Scripts ask for rank 0, for the first GPU of a node, for the last rank, and meshes put neighbours and the same GPU
    of all nodes into groups: each of these ranks shares a group with another one of them, so that the two can be
    compared. The number does not grow with the world. What the meshes of the job are is known when the first rank has
    been rehearsed: :func:`with_axes` adds to these.
    """
    if world_size < 1 or per_node < 1:
        raise ValueError("a job has at least one rank, and a node at least one GPU")
    middle = world_size // 2 // per_node * per_node or world_size // 2
    wanted = {0, 1, per_node, middle, world_size - 1}
    return tuple(sorted(rank for rank in wanted if rank < world_size))


MOST_RANKS = 8  # of one job: each is a process, one after the other


def with_axes(ranks: Sequence[int], along: Iterable[int]) -> tuple[int, ...]:
    """With the first rank along each axis of a mesh, of the axes that come first."""
    new = [rank for rank in dict.fromkeys(along) if rank not in ranks]
    return tuple(sorted([*ranks, *new[: max(0, MOST_RANKS - len(ranks))]]))


# Imported once, where processes can be forked: torch, and its compiler, which the first hook of FSDP2 needs.
_PRELOADED = ["torch._dynamo", "torch.distributed.checkpoint.state_dict", "fsdp2_lint.preflight.stage"]


def rehearse(script: Script, asked: Asked, world_sizes: Sequence[int], folder: Path) -> list[Path]:
    """The folder with the report of each world size, in the order in which they were asked for."""
    stamp = f"preflight-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    return [_of_size(script, asked, size, folder / f"{stamp}-{size}") for size in world_sizes]


def _of_size(script: Script, asked: Asked, size: int, folder: Path) -> Path:
    per_node = min(asked.per_node, size)
    named = tuple(rank for rank in asked.ranks if rank < size)
    ranks = named or chosen_ranks(size, per_node)
    token = uuid4().hex
    first = Part(script, asked, Place(ranks[0], size, per_node), ranks, folder, token)
    first.sent.mkdir(parents=True, exist_ok=True)
    try:
        _run(first, shown=True)
        if not named:
            ranks = with_axes(ranks, _along_axes(first))
        for rank in ranks[1:]:
            _run(replace(first, place=Place(rank, size, per_node), ranks=ranks), shown=False)
    finally:
        shutil.rmtree(first.sent, ignore_errors=True)
    return folder


def _along_axes(first: Part) -> Iterator[int]:
    """What the first rank says of its meshes; nothing where it wrote no report."""
    for path in rank_files(first.folder):
        yield from (rank for each in records(path) if each["record"] == "axes" for rank in each["ranks"])


def _run(part: Part, *, shown: bool) -> None:
    """In a process of its own: what is made up there stays there. What the first rank prints is shown, on stderr."""
    process = _context().Process(target=_play, args=(part, os.getcwd(), list(sys.path), shown))
    process.start()
    attend(process, part)


def _context() -> Any:
    """Processes that have torch already, where they can be forked: to import it takes longer than most rehearsals."""
    if "forkserver" in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_PRELOADED)
        return context
    return multiprocessing.get_context("spawn")


def _play(part: Part, folder: str, path: list[str], shown: bool) -> None:
    """stdout is for what is found."""
    from .stage import play

    os.chdir(folder)
    sys.path[:] = path
    if not shown:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.dup2(2, 1)
    leave_last_words(part)
    play(part)
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None: the command was started without it
        stream.flush()
    # What libraries share between processes is given back, or its keeper complains.
    util._run_finalizers()  # type: ignore[attr-defined]
    os._exit(0)  # threads that a library left behind must not keep it alive
