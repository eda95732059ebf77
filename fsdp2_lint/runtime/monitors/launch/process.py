"""The process: its group, and its device."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from ....report.folders import is_first
from ....vocab.answers import Answer, unknown, yes
from ....vocab.events.launch import DeviceSelected, Launched
from ....vocab.finding import Moment, Site
from ... import adapter, facts
from ...closure import looked, shown
from ...ledger import CudaUse
from ...patches import argument
from ...session import Session
from ...sites import called_by_torch, here


def _number(name: str) -> int | None:
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else None


@dataclass(frozen=True, slots=True)
class RuntimeDevice:
    """A selection of a device, before it happens."""

    use: CudaUse
    index: int | None
    name: str

    def from_global_rank(self) -> Answer[Site | None]:
        rank, local = _number("RANK"), _number("LOCAL_RANK")
        if rank is None or local is None or rank == local:
            return unknown("on the first node the global rank and LOCAL_RANK are the same")
        return yes(None) if self.index == rank else looked("the device index is not the rank")

    def touched_before(self) -> Answer[tuple[Moment, str]]:
        if self.use.first is None or self.use.selected is not None or not torch.cuda.is_initialized():
            return looked("CUDA was asked whether it was in use")  # once selected, a rank may visit other devices
        before = torch.cuda.current_device()
        if self.index is None or self.index < 0 or self.index == before or not torch.cuda.memory_allocated(before):
            return looked("CUDA was asked whether it was in use")
        return yes((self.use.first, f"memory is taken on cuda:{before}"))


@dataclass(frozen=True, slots=True)
class RuntimeProcess:
    use: CudaUse

    def device_selected(self) -> Answer[object]:
        if self.use.selected is not None:
            return yes(self.use.selected)
        return looked("the devices of its tensors were read") if self._on_the_wrong_device() else yes(True)

    def current_device_used(self) -> Answer[tuple[Moment, str]]:
        if self.use.first is not None and self.use.sharded is not None and self._on_the_wrong_device():
            return yes((self.use.first, "the first use of CUDA"))
        return looked("the uses of the device were looked at")

    def mesh_made(self) -> Answer[Moment]:
        return shown(self.use.sharded, "nothing is sharded on this rank")

    def _on_the_wrong_device(self) -> bool:
        local = _number("LOCAL_RANK")
        if local is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
            return False
        index = self.use.index if self.use.index is not None else torch.cuda.current_device()
        return torch.cuda.device_count() > 1 and index != local

    def launch_mismatch(self) -> Answer[str]:
        said = _number("RANK"), _number("WORLD_SIZE")
        if None in said or not dist.is_initialized() or not is_first():  # a launcher knows the processes it started
            return looked("the environment was compared with the process group")
        real = dist.get_rank(), dist.get_world_size()
        if said == real:
            return looked("the environment was compared with the process group")
        return yes(
            f"the launcher started rank {said[0]} of {said[1]}, and the process group says rank {real[0]} of {real[1]}"
        )


def install(session: Session) -> None:
    watch = _Watch(session)
    c10d = sys.modules["torch.distributed.distributed_c10d"]
    places = [(dist, "init_process_group"), (c10d, "init_process_group")]
    session.watch(places, after=watch.launched)
    session.watch(adapter.group_made(), rare=True, after=watch.joined)
    session.watch((torch.cuda, "set_device"), before=watch.select("torch.cuda.set_device"))
    accelerator = getattr(torch, "accelerator", None)
    for name in ("set_device_index", "set_device_idx"):
        if hasattr(accelerator, name):
            session.watch((accelerator, name), before=watch.select(f"torch.accelerator.{name}"))
    if first := adapter.first_cuda_use():
        session.watch(first, before=watch.use)
    session.watch_fsdp2("sharding", before=watch.shard)


def launched(session: Session) -> None:
    """The default process group is being made or has just been made, here."""
    session.launched = when = here()
    session.dispatch(Launched(when=when, process=RuntimeProcess(session.cuda)))


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.cuda = session.cuda

    def launched(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        launched(self.session)

    def joined(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.session.joined()

    def select(self, name: str) -> Any:
        def selected(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if called_by_torch(sys._getframe()):
                return  # to set what is set already, as threads that pin memory do
            device = args[0] if args else next(iter(kwargs.values()), None)
            index = device if isinstance(device, int) else torch.device(device).index if device is not None else None
            when = here()
            self.session.dispatch(DeviceSelected(when=when, device=RuntimeDevice(self.cuda, index, name)))
            self.cuda.selected = self.cuda.selected or when

        return selected

    def use(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.cuda.first = self.cuda.first or here()

    def shard(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        device = argument(args, kwargs, 2, "device")
        device = adapter.device_meant(device) if isinstance(device, torch.device) else None
        if device is not None and device.type == "cuda" and self.cuda.sharded is None:
            self.cuda.sharded, self.cuda.index = here(), device.index
            facts.device(self.session, device, self.cuda.sharded)
