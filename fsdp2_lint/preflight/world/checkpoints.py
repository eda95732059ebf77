"""Checkpoints: nothing is written, and what would be is told; what is loaded stays as it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import torch

from ...runtime.adapter import local, rehearsal
from ...runtime.sites import here
from .devices import CPU, Devices, is_gpu
from .place import CannotRehearse, Limits, Save, Told
from .replacing import arguments, instead
from .written import MetaModel

WRITES = "nothing is saved: {} writes no file"
READS = "nothing is loaded: what dcp.load would fill in keeps the values that it has"
NOT_THERE = "the script loads {}, which is not there"


class NothingToLoad(CannotRehearse, FileNotFoundError):
    """The script may have meant to begin anew where there is no file."""


class Checkpoints:
    """``told`` is called with what would have been written."""

    def __init__(self, limits: Limits, devices: Devices, hollow: MetaModel) -> None:
        self.limits = limits
        self.hollow = hollow
        self.devices = devices
        self.told: Told | None = None
        self._by = "dcp.save"

    def _tell(self, by: str, target: Any, state: Any) -> None:
        site = here().at
        self.limits.say(WRITES.format(by), site)
        if self.told is not None:
            self.told(Save(by, _name(target), state, site))

    def save(self, original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound: the collectives of a save, in which ranks agree on who writes what; no rank needs the answer.
        def write(*args: Any, **kwargs: Any) -> None:
            given = arguments(original, args, kwargs)
            self._tell(self._by, getattr(given["storage_writer"], "checkpoint_id", None), given["state_dict"])
            if given.get("use_collectives", True):
                ranks = _ranks(given)
                _plan(ranks)
                ranks.gather_object(None)
                ranks.broadcast_object(None)

        return write

    def load(self, original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound for shapes and collectives; the limit says what becomes of values.
        def read(*args: Any, **kwargs: Any) -> None:
            self.limits.say(READS, here().at)
            given = arguments(original, args, kwargs)
            self._fill(given["state_dict"])
            ranks = _ranks(given)
            _plan(ranks)
            ranks.all_gather_object(None)

        return read

    def _fill(self, state: Any) -> None:
        """In the job it has values now."""
        if isinstance(state, torch.Tensor):
            self.hollow.fill(local(state))
        elif isinstance(state, (dict, list, tuple)):
            for each in state.values() if isinstance(state, dict) else state:
                self._fill(each)

    def save_later(self, original: Callable[..., Any], save: Callable[..., Any]) -> Callable[..., Any]:
        """In place of ``async_save``: ``save``, at once."""

        # Sound for what is written and sent; in the job it is done while training goes on.
        def async_save(*args: Any, **kwargs: Any) -> Any:
            given = arguments(original, args, kwargs)
            taken = ("state_dict", "checkpoint_id", "storage_writer", "planner", "process_group", "no_dist")
            self._by = "dcp.async_save"
            try:
                save(**{name: given[name] for name in taken if name in given})
            finally:
                self._by = "dcp.save"
            done: Future[Any] = Future()
            done.set_result(None)
            staged = given.get("async_stager") is not None
            return rehearsal.answer_of_async_save(done) if staged else done

        return async_save

    def write(self, original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound: a file that a rehearsal writes would be read as that of a job.
        def save(*args: Any, **kwargs: Any) -> Any:
            given = arguments(original, args, kwargs)
            if not isinstance(given["f"], (str, os.PathLike)):
                return self._into_memory(original, given)
            self._tell("torch.save", given["f"], given["obj"])
            return None

        return save

    def _into_memory(self, original: Callable[..., Any], given: dict[str, Any]) -> Any:
        """A buffer of the script's own: it may read it again."""
        if rehearsal.holds_no_values(given["obj"]):
            self._tell("torch.save", "a buffer", given["obj"])
            return None
        return original(**given)

    def read(self, original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound: the file is read as it is, to the CPU.
        def load(*args: Any, **kwargs: Any) -> Any:
            given = arguments(original, args, kwargs)
            if isinstance(given["f"], (str, os.PathLike)) and not os.path.exists(given["f"]):
                raise NothingToLoad(NOT_THERE.format(_name(given["f"])))
            given["map_location"] = self._to_cpu(given.get("map_location"))
            return original(**given)

        return load

    def _to_cpu(self, location: Any) -> Any:
        if isinstance(location, dict):
            return {source: self._to_cpu(target) for source, target in location.items()}
        return CPU if location is None or is_gpu(location) or isinstance(location, int) else location


def _name(target: Any) -> str:
    return os.fspath(target) if isinstance(target, os.PathLike) else str(target)


def _ranks(given: dict[str, Any]) -> Any:
    """What ``torch.distributed.checkpoint`` exchanges objects with."""
    named = given.get("coordinator_rank", 0)
    return rehearsal.exchange_of_checkpoints()(given.get("process_group"), not given.get("no_dist", False), named)


def _plan(ranks: Any) -> None:
    ranks.gather_object(None)
    ranks.scatter_object([None] * ranks.get_world_size() if ranks.is_coordinator else None)


def leave_files_alone(checkpoints: Checkpoints) -> None:
    for (owner, name), make in zip(
        (*rehearsal.spots_of_checkpoints(),), (checkpoints.save, checkpoints.load), strict=True
    ):
        instead([(owner, name)], make)
    saver = rehearsal.spots_of_saves("save")
    save = getattr(*saver[0])
    instead(rehearsal.spots_of_saves("async_save"), lambda original: checkpoints.save_later(original, save))
    instead([(torch, "save"), (torch.serialization, "save")], checkpoints.write)
    instead([(torch, "load"), (torch.serialization, "load")], checkpoints.read)
