"""The process: its group, and its device."""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.distributed as dist

from ...vocab.events.process import DeviceSelected, Launched
from .. import adapter, facts
from ..handles import RuntimeDevice, RuntimeProcess
from ..session import Session
from ..sites import called_by_torch, here


def install(session: Session) -> None:
    watch = _Watch(session)
    c10d = sys.modules["torch.distributed.distributed_c10d"]
    places = [(dist, "init_process_group"), (c10d, "init_process_group")]
    session.hot.watch(places, after=session.quietly(watch.launched))
    session.hot.watch((torch.cuda, "set_device"), before=session.quietly(watch.select("torch.cuda.set_device")))
    accelerator = getattr(torch, "accelerator", None)
    for name in ("set_device_index", "set_device_idx"):
        if hasattr(accelerator, name):
            selects = watch.select(f"torch.accelerator.{name}")
            session.hot.watch((accelerator, name), before=session.quietly(selects))
    if first := adapter.first_cuda_use():
        session.hot.watch(first, before=session.quietly(watch.use))
    if place := adapter.place("sharding"):
        session.hot.watch(place, before=session.quietly(watch.shard))


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.cuda = session.cuda

    def launched(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.session.launched = when = here()
        self.session.hear(Launched(when=when, process=RuntimeProcess(self.cuda)))

    def select(self, name: str) -> Any:
        def selected(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if called_by_torch(sys._getframe()):
                return  # to set what is set already, as threads that pin memory do
            device = args[0] if args else next(iter(kwargs.values()), None)
            index = device if isinstance(device, int) else torch.device(device).index if device is not None else None
            when = here()
            self.session.hear(DeviceSelected(when=when, device=RuntimeDevice(self.cuda, index, name)))
            self.cuda.selected = self.cuda.selected or when

        return selected

    def use(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.cuda.first = self.cuda.first or here()

    def shard(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        device = args[2] if len(args) > 2 else kwargs.get("device")
        if isinstance(device, torch.device) and device.type == "cuda" and self.cuda.sharded is None:
            self.cuda.sharded, self.cuda.index = here(), device.index
            facts.device(self.session, device, self.cuda.sharded)
