"""What ``torch.cuda`` and ``torch.accelerator`` answer where no GPU is: as a node of H100s would."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import torch

from .devices import Devices
from .graphs import graphs

GIB = 2**30
NAME = "NVIDIA H100 80GB HBM3"
ASSUMED = f"the GPU is taken to be one {NAME}, of which no memory is in use: what the script asks of it is answered so"
TIMES = "no time is measured: an event on a GPU says 1 ms"


class Stream:
    """Work of a rehearsal is done in the order of the program, so each stream is always up to date."""

    def __init__(self, device: Any = None, priority: int = 0, **given: Any) -> None:
        self.device = torch.device("cuda", 0)
        self.priority = priority
        self.stream_id = self.cuda_stream = 0

    def wait_stream(self, stream: Any) -> None: ...

    def wait_event(self, event: Any) -> None: ...

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def record_event(self, event: Any = None) -> Any:
        return event or Event()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *told: object) -> None: ...


class Event:
    """Has always happened."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def record(self, stream: Any = None) -> None: ...

    def wait(self, stream: Any = None) -> None: ...

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: Any) -> float:
        return 1.0


def properties(*device: Any) -> SimpleNamespace:
    return SimpleNamespace(
        name=NAME,
        major=9,
        minor=0,
        total_memory=80 * GIB,
        multi_processor_count=132,
        warp_size=32,
        max_threads_per_multi_processor=2048,
        shared_memory_per_block_optin=227 * 1024,
        gcnArchName="",
        uuid="",
        L2_cache_size=50 * 2**20,
    )


def answers(devices: Devices) -> dict[str, Any]:
    """By the name in ``torch.cuda``. Sound where nothing is computed; what is assumed is said as a limit."""

    def using(answer: Callable[..., Any], limit: str = "") -> Callable[..., Any]:
        def answered(*args: Any, **kwargs: Any) -> Any:
            devices.touch()
            if limit:
                devices.limits.say(limit)
            return answer(*args, **kwargs)

        return answered

    def nothing(*args: Any, **kwargs: Any) -> None:
        return None

    def zero(*args: Any, **kwargs: Any) -> int:
        return 0

    @contextmanager
    def on_device(device: Any = None) -> Iterator[None]:
        before = devices.current
        devices.touch(device)
        devices.current = devices.index_of(device) if devices.index_of(device) is not None else before  # type: ignore[assignment]
        try:
            yield
        finally:
            devices.current = before

    def initialise() -> None:
        devices.initialised = True

    def gathered(*args: Any, **kwargs: Any) -> Any:
        return OrderedDict[str, int]()

    asked: dict[str, Any] = {
        "is_available": lambda: True,
        "device_count": devices.count,
        "is_initialized": lambda: devices.initialised,
        "_lazy_init": initialise,
        "init": using(nothing),
        "set_device": devices.select,
        "current_device": using(lambda: devices.current),
        "device": on_device,
        "get_device_name": using(lambda *device: NAME, ASSUMED),
        "get_device_capability": using(lambda *device: (9, 0), ASSUMED),
        "get_device_properties": using(properties, ASSUMED),
        "mem_get_info": using(lambda *device: (80 * GIB, 80 * GIB), ASSUMED),
        "memory_stats": using(lambda *device: _Zeros(), ASSUMED),
        "memory_summary": using(lambda *args, **kwargs: "", ASSUMED),
        "memory_snapshot": using(lambda *args, **kwargs: []),
        "get_arch_list": lambda: ["sm_90"],
        "is_bf16_supported": lambda *args, **kwargs: True,
        "is_tf32_supported": lambda: True,
        "is_current_stream_capturing": lambda: False,
        "can_device_access_peer": lambda *args: True,
        "Stream": Stream,
        "ExternalStream": Stream,
        "Event": Event,
        "stream": lambda stream: nullcontext(stream),
        "StreamContext": lambda stream: nullcontext(stream),
        "current_stream": lambda *device: Stream(),  # optimizers ask for it, whatever they train
        "default_stream": using(lambda *device: Stream()),
        "set_stream": nothing,
        "utilization": zero,
        "temperature": zero,
        "power_draw": zero,
        "clock_rate": zero,
        # Tensors that would be on the GPU are drawn by the generator of the CPU.
        "manual_seed": torch.default_generator.manual_seed,
        "manual_seed_all": torch.default_generator.manual_seed,
        "get_rng_state": lambda *device: torch.get_rng_state(),
        "get_rng_state_all": lambda: [torch.get_rng_state()],
        "set_rng_state": lambda state, *device: torch.set_rng_state(state),
        "set_rng_state_all": nothing,
        "seed": nothing,
        "seed_all": nothing,
        "initial_seed": torch.initial_seed,
    }
    in_use = ("memory_allocated", "memory_reserved", "memory_cached")
    for name in (*in_use, *(f"max_{each}" for each in in_use)):
        asked[name] = using(zero, ASSUMED)
    for name in ("synchronize", "reset_peak_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached"):
        asked[name] = using(nothing)
    for name in (  # these do not begin to use CUDA where nothing has used it
        *("empty_cache", "ipc_collect", "reset_accumulated_memory_stats"),
        *("set_per_process_memory_fraction", "set_sync_debug_mode", "reset_peak_host_memory_stats"),
    ):
        asked[name] = nothing
    return asked


class _Zeros(OrderedDict[str, int]):
    """Has all that is asked of it."""

    def __missing__(self, key: str) -> int:
        return 0

    def get(self, key: str, default: object = None) -> int:
        return 0


def of_accelerator(devices: Devices, cuda: dict[str, Any]) -> dict[str, Any]:
    """By the name in ``torch.accelerator``."""
    return {
        "is_available": lambda: True,
        "current_accelerator": lambda *args, **kwargs: torch.device("cuda"),
        "device_count": devices.count,
        "set_device_index": devices.select,
        "set_device_idx": devices.select,
        "current_device_index": cuda["current_device"],
        "current_device_idx": cuda["current_device"],
        "device_index": cuda["device"],
        "current_stream": cuda["current_stream"],
        "set_stream": cuda["set_stream"],
        "get_device_capability": lambda *device: {},
        "get_memory_info": cuda["mem_get_info"],
        **{name: cuda[name] for name in ("synchronize", "empty_cache", "memory_stats", "reset_peak_memory_stats")},
        **{
            name: cuda[name]
            for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")
        },
    }


def pretend(devices: Devices) -> None:
    """Answer for the GPUs of a node."""
    cuda = answers(devices)
    cuda |= graphs(devices.limits)
    _put(torch.cuda, cuda)
    _put(torch.cuda.graphs, cuda)
    _put(torch.cuda.memory, cuda)
    _put(torch.cuda.random, cuda)
    _put(torch.cuda.streams, cuda)
    _put(torch.cuda.nccl, {"version": lambda: (2, 27, 5)})
    module = torch.get_device_module
    _put(torch, {"get_device_module": lambda device=None: module("cuda" if device is None else device)})
    if accelerator := getattr(torch, "accelerator", None):
        _put(accelerator, of_accelerator(devices, cuda))


def _put(owner: Any, answers: dict[str, Any]) -> None:
    for name, answer in answers.items():
        if hasattr(owner, name):
            setattr(owner, name, answer)
