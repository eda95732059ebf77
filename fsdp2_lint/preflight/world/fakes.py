"""Tensors without memory: they have shapes and dtypes, and stand-ins where the script asks for a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.utils.data import DistributedSampler

from ...runtime.adapter import rehearsal
from ...runtime.sites import here
from .moving import keep_parameters
from .place import Limits
from .replacing import inside_class, instead
from .routing import counts, in_bins, route_evenly
from .written import MetaModel

aten = torch.ops.aten
VALUE = "the value of a tensor is read here, which has none: {} stands in, and in the job it may go another way"
EQUAL = "the values of two tensors are compared here: they are taken to be equal"
NUMBER = "how many elements there are depends on values here: it is taken to be as many as there can be"
ONCE_EACH = "how often elements are repeated depends on values here: each is taken once"


def stand_in(dtype: torch.dtype) -> Any:
    """Neither infinite nor zero: scripts divide by counts and losses. False: most questions are for faults."""
    if dtype is torch.bool:
        return False
    if dtype.is_complex:
        return complex(1.0)
    return 1.0 if dtype.is_floating_point else 1


def fakes(limits: Limits, hollow: MetaModel) -> Any:
    """The mode. Tensors that come from outside keep their values until they meet one that has none."""
    base = rehearsal.fake_mode()

    class Fakes(base):  # type: ignore[misc,valid-type]
        def dispatch(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if not types and _has_values(func, args, kwargs):
                return func(*args, **kwargs)
            if func in COUNTS:
                with rehearsal.without_fakes():
                    return COUNTS[func](limits, *args, **kwargs)
            try:
                result = super().dispatch(func, types, args, kwargs)
                hollow.after(func, args, kwargs, result)
                return result
            except rehearsal.asks_for_values():
                answer = ANSWERS.get(func)
                if answer is None:
                    raise
                return answer(limits, func, *args, **kwargs)

    return Fakes(allow_non_fake_inputs=True)


def _has_values(func: Any, args: Any, kwargs: Any) -> bool:
    """Is it computed from tensors alone that are not of the mode?

    What shuffles data is, too: a sampler that gave the same place each time would be none.
    """
    for each in (*args, *kwargs.values()):
        for part in each if isinstance(each, (list, tuple)) else (each,):
            if isinstance(part, torch.Tensor):
                return part.device.type != "meta"
    return func in (aten.randperm.default, aten.randperm.generator)


def _scalar(limits: Limits, func: Any, tensor: torch.Tensor) -> Any:
    value = stand_in(tensor.dtype)
    limits.say(VALUE.format(value), here().at)
    return value


def _equal(limits: Limits, func: Any, *tensors: torch.Tensor) -> bool:
    limits.say(EQUAL, here().at)
    return True


def _places(limits: Limits, func: Any, tensor: torch.Tensor) -> torch.Tensor:
    limits.say(NUMBER, here().at)
    return torch.empty(tensor.numel(), tensor.dim(), dtype=torch.long, device=tensor.device)


def _selected(limits: Limits, func: Any, tensor: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    limits.say(NUMBER, here().at)
    number = torch.broadcast_shapes(tensor.shape, mask.shape).numel()
    return tensor.new_empty(number)


def _by_places(indices: Any) -> list[torch.Tensor | None]:
    """A mask is as many indices as it has dimensions."""
    found: list[torch.Tensor | None] = []
    for each in indices:
        if each is not None and each.dtype in (torch.bool, torch.uint8):
            found += [torch.empty(each.numel(), dtype=torch.long, device=each.device)] * each.dim()
        else:
            found.append(each)
    return found


def _indexed(limits: Limits, func: Any, tensor: torch.Tensor, indices: Any) -> Any:
    limits.say(NUMBER, here().at)
    return func(tensor, _by_places(indices))


def _repeated(limits: Limits, func: Any, repeats: torch.Tensor, *, output_size: int | None = None) -> torch.Tensor:
    limits.say(ONCE_EACH, here().at)
    return torch.empty(repeats.numel(), dtype=torch.long, device=repeats.device)


def _distinct(limits: Limits, func: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """All are taken to be distinct."""
    limits.say(NUMBER, here().at)
    along = args[0] if func in (aten.unique_dim.default, aten.unique_consecutive.default) and args else None
    if func is aten.unique_consecutive.default:
        along = args[2] if len(args) > 2 else kwargs.get("dim")
    values = torch.empty_like(tensor) if along is not None else tensor.new_empty(tensor.numel())
    number = tensor.size(along) if along is not None else tensor.numel()
    inverse = torch.empty(tensor.shape if along is None else (number,), dtype=torch.long, device=tensor.device)
    return values, inverse, torch.empty(number, dtype=torch.long, device=tensor.device)


COUNTS: dict[Any, Callable[..., Any]] = {aten.histc.default: in_bins, aten.bincount.default: counts}
ANSWERS: dict[Any, Callable[..., Any]] = {
    aten._local_scalar_dense.default: _scalar,
    aten.equal.default: _equal,
    aten.nonzero.default: _places,
    aten.masked_select.default: _selected,
    aten.index.Tensor: _indexed,
    aten.repeat_interleave.Tensor: _repeated,
    aten._unique2.default: _distinct,
    aten.unique_dim.default: _distinct,
    aten.unique_consecutive.default: _distinct,
}


def without_values(limits: Limits, mode: Any, handlers: dict[Any, Any]) -> None:
    """Make tensors without memory from now on, and answer what no operation sees."""
    mode.__enter__()
    handlers[torch.Tensor.numpy] = _as_numpy(limits)
    handlers[torch.Tensor.__array__] = _as_numpy(limits)
    handlers[torch.Tensor.__format__] = _formatted
    instead([(torch.nn.init, "trunc_normal_")], _drawing(limits))
    _work_for_real()
    keep_parameters()
    route_evenly(limits)
    _propagate_beside()


def _as_numpy(limits: Limits) -> Callable[[Any, Any], Any]:
    def numpy(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensor = args[0]
        if not rehearsal.has_no_values(tensor):
            return torch.Tensor.numpy(tensor, **kwargs)
        value = stand_in(tensor.dtype)
        limits.say(VALUE.format(f"an array of {value}"), here().at)
        with rehearsal.without_fakes():
            return torch.full(tensor.shape, value, dtype=tensor.dtype).numpy()

    return numpy


def _formatted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, wanted = args
    if rehearsal.has_no_values(tensor) and tensor.dim() == 0:
        return format(tensor.item(), wanted)
    return torch.Tensor.__format__(tensor, wanted)  # type: ignore[no-untyped-call]


def _drawing(limits: Limits) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound: it reads values to see whether to draw again, which no shape depends on.
        def draw(*args: Any, **kwargs: Any) -> Any:
            limits.quiet = True
            try:
                return original(*args, **kwargs)
            finally:
                limits.quiet = False

        return draw

    return make


def _really(original: Callable[..., Any]) -> Callable[..., Any]:
    def work(*args: Any, **kwargs: Any) -> Any:
        with rehearsal.without_fakes():
            return original(*args, **kwargs)

    return work


def _work_for_real() -> None:
    """Sound: these do as in the job. The order of samples, batches and ranks have values, and need no GPU."""
    instead([rehearsal.batches()], _really)
    instead([(DistributedSampler, "__iter__")], _really)
    instead(rehearsal.spots_of_groups("init_device_mesh"), _really)
    for name in rehearsal.parts_of_meshes():
        inside_class(DeviceMesh, name, _really)


def _propagate_beside() -> None:
    def traced(original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound: nothing is traced; DTensor would take a mode without values for that and remember nothing.
        return lambda: False

    # Sound: as without this world, in a mode of its own. So what DTensor tries out is told from what is computed.
    instead([rehearsal.propagation()], _really)
    instead(rehearsal.spots_of_tracing(), traced)
