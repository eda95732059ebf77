"""Where the parameters of a live model lay when it was sharded, and what reduces them since."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import CPUOffloadPolicy

from ....vocab.answers import Answer, unknown, yes
from ....vocab.events.sharding import MovedWhole
from ....vocab.finding import Moment, Place
from ... import adapter
from ...closure import looked
from ...ledger import Sharding
from ..shared.units import OfShardings

GIB = 2**30


def arriving(modules: tuple[nn.Module, ...]) -> tuple[int, int, int]:
    """Bytes of whole parameters on a GPU, bytes of them elsewhere, and what that GPU holds in all."""
    whole = [each for module in modules for each in module.parameters() if not isinstance(each, adapter.DTensor)]
    here = [each for each in whole if each.device.type == "cuda"]
    on_gpu = sum(each.numel() * each.element_size() for each in here)
    elsewhere = sum(each.numel() * each.element_size() for each in whole) - on_gpu
    return on_gpu, elsewhere, torch.cuda.memory_allocated(here[0].device) if here else 0


def is_offloaded(sharding: Sharding) -> bool:
    return any(isinstance(group.offloading, CPUOffloadPolicy) for group in sharding.groups())


@dataclass(frozen=True, slots=True)
class RuntimeOffload:
    """The process group behind an offloaded group; ``launched`` is where the default one was made."""

    sharding: Sharding
    launched: Moment | None

    def without_cpu_backend(self) -> Answer[Place]:
        served = backends()
        if served is None:
            return unknown("which backends the process group has cannot be asked")
        if "cpu" in served:
            return looked("the backends of the process group were asked for")
        return yes(Place(self.launched or self.sharding.when, " and ".join(sorted(set(served.values())))))


def backends() -> dict[str, str] | None:
    """The backend for each type of device."""
    try:
        told = dist.get_backend_config()
    except (AttributeError, RuntimeError, ValueError):
        return None
    pairs = [part.split(":") for part in told.split(",")]
    return {pair[0]: pair[1] for pair in pairs} if all(len(pair) == 2 for pair in pairs) else None


@dataclass(frozen=True, slots=True)
class RuntimePlacement(OfShardings):
    """A model by what its shardings found."""

    def moved_whole(self) -> Answer[MovedWhole]:
        """All parameters came in on the GPU, and it held as much when the first of them was cut."""
        if adapter.is_rehearsed():
            return unknown("a rehearsal on CPUs does not tell which tensors would be on the GPU")
        on_gpu = sum(sharding.arrived[0] for sharding in self.shardings)
        elsewhere = sum(sharding.arrived[1] for sharding in self.shardings)
        if not on_gpu or elsewhere or self.shardings[0].arrived[2] < on_gpu:
            return looked("the devices of its parameters were read")
        words = f"its parameters take {on_gpu / GIB:.1f} GiB, and each rank had all of them on its GPU"
        return yes(MovedWhole(self.shardings[0].when, words, self.label))

    def known_small(self) -> Answer[object]:
        counted = 2 if adapter.is_rehearsed() else 1
        small = sum(sum(sharding.arrived[:counted]) for sharding in self.shardings) < GIB
        return yes(True) if small else looked("its parameters were counted")
