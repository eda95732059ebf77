"""Tensors that the script puts on a GPU lie on the CPU, where the same operations give the same shapes and dtypes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from ...runtime.adapter import rehearsal
from ...runtime.sites import here, users_next
from ...vocab.finding import Site
from .place import Limits, Place
from .replacing import instead

CPU = torch.device("cpu")
NO_DEVICE = "CUDA error: invalid device ordinal: cuda:{} of a node of {} GPUs"
NoSuchDevice = getattr(torch, "AcceleratorError", RuntimeError)  # as torch raises it


@dataclass(frozen=True, slots=True)
class Use:
    """The script named a GPU, or selected one. ``index`` is None where it named none."""

    site: Site
    index: int | None


class Devices:
    """The GPUs of this rank's node, as the script sees them: which it selected, and where it used one."""

    def __init__(self, place: Place, limits: Limits) -> None:
        self.place = place
        self.limits = limits
        self.current = 0
        self.initialised = False
        self.selected: list[Use] = []
        self.used: list[Use] = []
        self._lines: set[tuple[int, int]] = set()

    def count(self) -> int:
        return min(self.place.local_world_size, self.place.world_size)

    def index_of(self, device: Any) -> int | None:
        """Which GPU a device names, as ``torch.cuda`` understands its arguments."""
        if device is None or isinstance(device, int):
            return device
        return torch.device(device).index

    def select(self, device: Any) -> None:
        index = self.index_of(device)
        self.touch(device)
        if index is not None and index >= 0:
            self.current = index
        self.selected.append(Use(here().at, index))

    def touch(self, device: Any = None) -> None:
        """CUDA is used: the monitors may look at the first time."""
        index = self.index_of(device)
        if index is not None and index >= self.count():
            raise NoSuchDevice(NO_DEVICE.format(index, self.count()))
        if not self.initialised:
            self.initialised = True
        rehearsal.first_use()
        frame, _ = users_next(sys._getframe(1))
        line = (id(frame.f_code), frame.f_lasti) if frame is not None else (0, 0)
        if line not in self._lines:
            self._lines.add(line)
            self.used.append(Use(here().at, index))

    def on_cpu(self, device: Any) -> Any:
        """What stands for a device: the CPU for a GPU, each other one for itself."""
        if is_gpu(device):
            self.touch(device)
            return CPU
        return device


def is_gpu(device: Any) -> bool:
    if isinstance(device, str):
        return device.partition(":")[0] == "cuda"
    return isinstance(device, torch.device) and device.type == "cuda"


Handler = Callable[[tuple[Any, ...], dict[str, Any]], Any]


class OnCpu(TorchFunctionMode):
    """Sees each call of torch by the thread that trains, and puts the CPU where a GPU is named.

    ``handlers`` are calls that are answered otherwise.
    """

    def __init__(self, devices: Devices) -> None:
        super().__init__()
        self._devices = devices
        self.handlers: dict[Any, Handler] = {
            torch.Tensor.cuda: self._cuda,
            torch.Tensor.to: self._to,
            # Sound: a pinned tensor has the values, the shape and the device of one that is not.
            torch.Tensor.pin_memory: lambda args, kwargs: args[0],
            # Sound: it tells the allocator of a GPU for how long memory is used, and computes nothing.
            torch.Tensor.record_stream: lambda args, kwargs: None,
        }

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if (handler := self.handlers.get(func)) is not None:
            return handler(args, kwargs)
        if kwargs:
            kwargs = self._without_gpu(kwargs)
        return func(*args, **kwargs)

    def _without_gpu(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        device = kwargs.get("device")
        if is_gpu(device) or (isinstance(device, int) and not isinstance(device, bool)):
            self._devices.touch(device)
            kwargs = {**kwargs, "device": CPU}
        if kwargs.get("pin_memory"):
            kwargs = {**kwargs, "pin_memory": False}
        return kwargs

    def _cuda(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        device = args[1] if len(args) > 1 else kwargs.get("device")
        self._devices.touch(device)
        layout = {"memory_format": kwargs["memory_format"]} if "memory_format" in kwargs else {}
        return args[0].to(device=CPU, **layout)

    def _to(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensor, *given = args
        if given and (is_gpu(given[0]) or (isinstance(given[0], int) and not isinstance(given[0], bool))):
            self._devices.touch(given[0])
            given[0] = CPU
        return torch.Tensor.to(tensor, *given, **self._without_gpu(kwargs))


def redirect(devices: Devices) -> OnCpu:
    """Enter the mode, here and in each thread that is started from now on, and patch what no mode sees."""
    mode = OnCpu(devices)
    mode.__enter__()  # type: ignore[no-untyped-call]

    def context(original: Any) -> Any:
        # Sound: its only effect is the argument ``device`` of functions that make tensors.
        def initialise(self: Any, device: Any) -> None:
            original(self, devices.on_cpu(torch.device(device)))

        return initialise

    instead([rehearsal.device_context()], context)
    _redirect_modules(devices)
    _redirect_generators(devices)
    _redirect_precision(devices)
    return mode


def _redirect_modules(devices: Devices) -> None:
    def cuda(original: Any) -> Any:
        # Sound: as ``Tensor.cuda`` above, for all tensors of a module.
        def moved(self: nn.Module, device: Any = None) -> nn.Module:
            devices.touch(device)
            return self

        return moved

    def to_empty(original: Any) -> Any:
        # Sound: memory of the same size without values, on the CPU.
        def emptied(self: nn.Module, *, device: Any, recurse: bool = True) -> nn.Module:
            moved: nn.Module = original(self, device=_named(devices, device), recurse=recurse)
            return moved

        return emptied

    instead([(nn.Module, "cuda")], cuda)
    instead([(nn.Module, "to_empty")], to_empty)


def _named(devices: Devices, device: Any) -> Any:
    if isinstance(device, int):  # the number of a GPU
        device = torch.device("cuda", device)
    return devices.on_cpu(device)


def _redirect_generators(devices: Devices) -> None:
    class Generator(torch.Generator):
        # Sound for shapes; the numbers that a GPU draws are others, as those of any two devices are.
        def __new__(cls, device: Any = "cpu") -> Any:
            return super().__new__(cls, device=devices.on_cpu(device))  # type: ignore[call-arg]

    torch.Generator = Generator  # type: ignore[misc]


def _redirect_precision(devices: Devices) -> None:
    def autocast(original: Any) -> Any:
        # Sound for matrix products, which both devices cast alike; the limit says what may differ.
        def initialise(self: Any, device_type: str, dtype: Any = None, *args: Any, **kwargs: Any) -> None:
            # A script that asks a tensor where it lies is told the CPU.
            meant = is_gpu(device_type) or (device_type == "cpu" and devices.initialised)
            if meant:
                dtype = dtype or torch.get_autocast_dtype("cuda")
                device_type = "cpu"
                if kwargs.get("enabled", not args or args[0]):
                    devices.limits.say(AUTOCAST)
            known = dtype in (None, torch.bfloat16, torch.float16)
            original(self, device_type, dtype if known or not meant else torch.bfloat16, *args, **kwargs)
            if meant:
                self.fast_dtype = dtype  # that of a GPU may be any, and the CPU's casts to it too

        return initialise

    def scaler(original: Any) -> Any:
        # Sound: a scaler for the CPU scales and unscales with the same operations.
        def initialise(self: Any, device: str = "cuda", *args: Any, **kwargs: Any) -> None:
            original(self, devices.on_cpu(device), *args, **kwargs)

        return initialise

    instead([(torch.autocast, "__init__")], autocast)
    instead([(torch.amp.GradScaler, "__init__")], scaler)


AUTOCAST = (
    "autocast is that of the CPU: a few operations, such as softmax and norms, may have another dtype than on a GPU"
)


def follow_threads(enter: Callable[[], AbstractContextManager[Any]]) -> None:
    """Modes belong to a thread: each that the script starts enters them too."""

    def start(original: Any) -> Any:
        # Sound: what the thread runs stays what it is.
        def started(self: threading.Thread) -> None:
            run = self.run

            def inside() -> None:
                with enter():
                    run()

            self.run = inside  # type: ignore[method-assign]
            original(self)

        return started

    instead([(threading.Thread, "start")], start)
