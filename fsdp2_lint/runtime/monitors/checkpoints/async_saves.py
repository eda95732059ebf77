"""``dcp.async_save``, and whether anything waits for it. Whoever asks a future for its result, waits."""

from __future__ import annotations

import concurrent.futures
import sys
import weakref
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp

from ....vocab.answers import Answer
from ....vocab.events.checkpoints import AsyncSaved
from ....vocab.finding import Moment, Place
from ... import adapter
from ...closure import shown
from ...session import Session
from ...sites import called_by_torch, here


@dataclass(frozen=True, slots=True)
class RuntimeAsyncSave:
    """Each field is the proof of its answer, if there is one."""

    never_awaited: Place | None = None
    next_save: Place | None = None
    training: Place | None = None

    def dropped(self) -> Answer[Place]:
        return _answer(self.never_awaited)

    def overtaken(self) -> Answer[Place]:
        return _answer(self.next_save)

    def shares_group(self) -> Answer[Place]:
        return _answer(self.training)


def _answer(place: Place | None) -> Answer[Place]:
    return shown(place, "the future of the save was watched")


ASKING = ("result", "exception", "done", "add_done_callback")


def install(session: Session) -> None:
    watch = _Watch(session)
    saver = sys.modules.get("torch.distributed.checkpoint.state_dict_saver", dcp)
    if not hasattr(dcp, "async_save"):
        return
    places = [(dcp, "async_save"), (saver, "async_save")]
    session.watch(places, rare=True, before=watch.begins, after=watch.begun)
    for name in ASKING:
        session.rare.watch((Future, name), before=watch.asked)
    base = sys.modules[Future.__module__]
    for name in ("wait", "as_completed"):
        session.rare.watch([(concurrent.futures, name), (base, name)], before=watch.asked_for_all)
    session.watch_fsdp2("first_forward", before=watch.forward)
    session.at_end.append(watch.end)


@dataclass(eq=False, slots=True)
class _Save:
    future: weakref.ref[Future[Any]]
    when: Moment
    group: Any  # its process group; None for that of the whole job


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.saves: list[_Save] = []  # that nothing has waited for yet

    def begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for save in self.saves:
            self._judge(save, RuntimeAsyncSave(next_save=Place(here())))
        self.saves.clear()

    def begun(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        future = getattr(result, "upload_completion", result)
        if isinstance(future, Future) and self.session.ledger.shardings:
            self.saves.append(_Save(weakref.ref(future), here(), kwargs.get("process_group")))

    def asked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Called for every future of the process, from any thread: nothing but the list may be touched.

        A thread of the job's own may wait as well, before it uploads what was saved; torch asks for itself.
        """
        if self.saves and not called_by_torch(sys._getframe()):
            self.saves = [save for save in self.saves if save.future() is not args[0]]

    def asked_for_all(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.saves:
            futures = args[0] if args else kwargs.get("fs", ())
            asked = {id(future) for future in futures} if isinstance(futures, (list, tuple, set, dict)) else None
            self.saves = [save for save in self.saves if asked is not None and id(save.future()) not in asked]

    def forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A module of FSDP2 is entered, which may be a forward of the training."""
        for save in [save for save in self.saves if self._shares(save, args[0])]:
            self.saves.remove(save)
            self._judge(save, RuntimeAsyncSave(training=Place(here(), "the training goes on here")))

    def _shares(self, save: _Save, state: Any) -> bool:
        """Do its collectives run where those of this model do? They are on the CPU."""
        meshes = [group.mesh for group in adapter.groups(state)]
        meshes = [each for each in meshes if adapter.device_meant(torch.device(each.device_type)).type == "cpu"]
        mine = save.group or dist.group.WORLD
        return any(mesh.ndim == 1 and mesh.get_group() is mine for mesh in meshes)

    def end(self) -> None:
        for save in self.saves if not self.session.cut_off else ():
            self._judge(save, RuntimeAsyncSave(Place(save.when, "the job has ended without asking for its result")))

    def _judge(self, save: _Save, seen: RuntimeAsyncSave) -> None:
        self.session.dispatch(AsyncSaved(when=save.when, save=seen))
