"""Ranks that the script starts itself: ``mp.spawn``, ``start_processes``, and processes of its own functions.

A process that never makes a process group is a helper: nothing of it is watched, and it writes nothing. Workers of data
loaders and of executors run functions of torch and of Python, and are not touched at all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import Any

import torch.distributed as dist

from .. import adapter
from ..monitors.launch import process
from ..patches import Patches
from ..session import Session
from ..sites import is_of_the_user
from .watch import NoReport, Plan, Watch, say

_SPAWN = "torch.multiprocessing.spawn"


def watch_children(session: Session, plan: Plan) -> None:
    """Have the ranks that this process starts watched in the same way."""

    def started(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        child: Any = args[0]
        target, given = child._target, child._args
        if getattr(target, "__module__", "") == _SPAWN and given and callable(given[0]):
            child._args = (Watched(given[0], plan), *given[1:])  # in there, since torch catches what it raises
        elif target is not None and _is_users(target):
            child._target = Watched(target, plan)

    session.watch((BaseProcess, "start"), rare=True, before=started)


def _is_users(target: Any) -> bool:
    while isinstance(target, functools.partial):
        target = target.func
    code = getattr(getattr(target, "__func__", target), "__code__", None)
    return code is not None and is_of_the_user(code.co_filename)


@dataclass(frozen=True, slots=True)
class Watched:
    """What a process is to do, and how it is watched if it is a rank. Picklable where the work is."""

    work: Callable[..., Any]
    plan: Plan

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run_work(args, kwargs)

    def run_work(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The user's part of the process begins here: what started it lies below in a forked one."""
        child = _Child(self.plan)
        code = 0
        try:
            return self.work(*args, **kwargs)
        except SystemExit as leave:
            code = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
            raise
        except BaseException as error:
            code = 1
            child.crashed(error)
            raise
        finally:
            child.end(code)


class _Child:
    """Is watched from the moment at which it makes a process group: then it is a rank, and knows which."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._watch: Watch | None = None
        self._waits = Patches()
        self._waits.watch(adapter.group_made(), after=self._group_made)
        self._waits.install()

    def _group_made(self, *told: Any) -> None:
        if not dist.is_initialized():
            return
        self._waits.remove()
        try:
            self._watch = Watch(self._plan)
        except NoReport as error:  # the rank trains on, unwatched
            say(f"fsdp2-lint: rank {dist.get_rank()} is not watched: {error}")
            return
        self._watch.begin()
        watch_children(self._watch.session, self._plan)
        self._watch.session.quietly(process.launched)(self._watch.session)

    def crashed(self, error: BaseException) -> None:
        if self._watch is not None and (meaning := self._watch.crashed(error)):
            say(meaning)

    def end(self, code: int) -> None:
        self._waits.remove()
        if self._watch is not None:
            self._watch.end(code)
