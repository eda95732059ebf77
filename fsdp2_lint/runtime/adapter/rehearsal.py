"""Private places of torch on which a rehearsal without GPUs rests: where each is, found by name.

What is done there is a matter of ``preflight/world``. Who asks for what this torch lacks is told so.
"""
# mypy: implicit-reexport

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import torch
import torch.distributed as dist

from .modules import local

Spot = tuple[Any, str]
_SHARDING = ("_fsdp_init", "_fully_shard")


class Lacking(Exception):
    """This torch has no such place; the message says which."""


def _spot(module: str, path: str) -> Spot:
    """The owner and the name of something: ``Class.method`` of a module, or a function of it."""
    *owners, name = path.split(".")
    try:
        owner: Any = importlib.import_module(module)
        for each in owners:
            owner = getattr(owner, each)
        getattr(owner, name)
    except (ImportError, AttributeError):
        raise Lacking(f"this torch has no {module}.{path}") from None
    return owner, name


def _find(module: str, name: str) -> Any:
    owner, name = _spot(module, name)
    return getattr(owner, name)


def fake_mode() -> type[Any]:
    """The mode in which all tensors are made without memory."""
    found: type[Any] = _find("torch._subclasses.fake_tensor", "FakeTensorMode")
    return found


def without_fakes() -> Any:
    """A context in which tensors are made with memory again."""
    return _find("torch._subclasses.fake_tensor", "unset_fake_temporarily")()


def device_context() -> Spot:
    """What ``with torch.device(…)`` and ``torch.set_default_device`` make of the device that they are given."""
    return _spot("torch.utils._device", "DeviceContext.__init__")


def fake_backend() -> Any:
    """Registers the backend ``fake``; the store of such a group."""
    importlib.import_module("torch.testing._internal.distributed.fake_pg")
    return dist.HashStore  # type: ignore[attr-defined]


def spots_of_groups(name: str) -> list[Spot]:
    """Every module of torch that has a function of ``torch.distributed``: many import it from there."""
    owners = (dist, dist.distributed_c10d, importlib.import_module("torch.distributed.device_mesh"))
    found = next((getattr(owner, name) for owner in owners if hasattr(owner, name)), None)
    modules = [module for own, module in list(sys.modules.items()) if own.partition(".")[0] == "torch"]
    return [(module, name) for module in modules if found is not None and vars(module).get(name) is found]


def spots_of_default_mesh() -> list[Spot]:
    """What makes a mesh of the accelerator for a ``fully_shard`` that is given none."""
    modules = [importlib.import_module(f"torch.distributed.fsdp._fully_shard.{name}") for name in _SHARDING]
    names = ("_init_default_mesh", "_init_default_fully_shard_mesh")
    return [(module, name) for module in modules for name in names if hasattr(module, name)]


def cut_of_parameters() -> Spot:
    """What makes the parts of all ranks of a parameter, of which FSDP2 takes that of this one."""
    return _spot("torch.distributed.fsdp._fully_shard._fsdp_param", "_chunk_with_empty")


def propagation() -> Spot:
    """Where DTensor runs an operation on tensors without memory, to know what comes out of it."""
    return _spot("torch.distributed.tensor._sharding_prop", "ShardingPropagator._propagate_tensor_meta_non_cached")


def batches() -> Spot:
    """What gives the next batch of a ``DataLoader``."""
    return _spot("torch.utils.data.dataloader", "_BaseDataLoaderIter.__next__")


def first_use() -> None:
    """What torch does when CUDA is used, under its name of now: the monitors may watch it."""
    if hasattr(torch.cuda, "_lazy_init"):
        torch.cuda._lazy_init()


def load_what_looks_around() -> None:
    """The compiler lists the functions of torch when it is loaded: that has to be before they are replaced.

    It is loaded in any case when the first hook of FSDP2 runs.
    """
    importlib.import_module("torch._dynamo")


def asks_for_values() -> tuple[type[Exception], ...]:
    """What a tensor without memory raises where its values would decide."""
    module = "torch._subclasses.fake_tensor"
    return _find(module, "DataDependentOutputException"), _find(module, "DynamicOutputShapeException")


def has_no_values(tensor: torch.Tensor) -> bool:
    return isinstance(tensor, _find("torch._subclasses.fake_tensor", "FakeTensor"))


def spots_of_tracing() -> Iterator[Spot]:
    """Where DTensor asks whether a compiler looks on, in which case it remembers nothing of what it has worked out."""
    for module in ("_dispatch", "_sharding_prop", "_redistribute"):
        with suppress(Lacking):
            yield _spot(f"torch.distributed.tensor.{module}", "_are_we_tracing")


def parts_of_meshes() -> Iterator[str]:
    """What of a ``DeviceMesh`` computes with the ranks in it, as tensors."""
    mesh = dist.device_mesh.DeviceMesh
    names = "__init__ __setstate__ __getitem__ mesh from_group _flatten _unflatten _concatenate _get_all_submeshes"
    return (name for name in names.split() if name in vars(mesh))


def conversion() -> Spot:
    """What ``to``, ``to_empty``, ``half`` and the like of a module go through."""
    return _spot("torch.nn", "Module._apply")


def convert(module: torch.nn.Module, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
    module._apply(change)


def spots_of_checkpoints() -> tuple[Spot, Spot]:
    """What ``dcp.save`` and ``dcp.load`` do with a state in which all objects have given theirs."""
    checkpoint = "torch.distributed.checkpoint"
    return (
        _spot(f"{checkpoint}.state_dict_saver", "_save_state_dict"),
        _spot(f"{checkpoint}.state_dict_loader", "_load_state_dict"),
    )


def spots_of_saves(name: str) -> list[Spot]:
    modules = ("torch.distributed.checkpoint.state_dict_saver", "torch.distributed.checkpoint")
    return [_spot(module, name) for module in modules]


def exchange_of_checkpoints() -> Any:
    """``(group, are there ranks, the one that coordinates)`` to what exchanges objects of a checkpoint."""
    return _find("torch.distributed.checkpoint.utils", "_DistWrapper")


def answer_of_async_save(done: Any) -> Any:
    """What ``dcp.async_save`` returns with a stager of its own: when it is copied, and when it is written."""
    with suppress(Lacking):
        return _find("torch.distributed.checkpoint.state_dict_saver", "AsyncSaveResponse")(done, done)
    return done


def holds_no_values(value: Any) -> bool:
    """Is there a tensor without memory in something that is about to be pickled?"""
    if isinstance(value, torch.Tensor):
        return has_no_values(local(value))
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return any(holds_no_values(each) for each in parts)


def spots_of_functional(name: str) -> list[Spot]:
    """A functional collective, which DTensor uses, and the same with gradients."""
    module = importlib.import_module("torch.distributed._functional_collectives")
    return [(module, each) for each in (name, f"{name}_autograd") if hasattr(module, each)]


def only_allocates(func: Any) -> bool:
    """Does an operation give memory that nobody has written?"""
    return _overload(func)[0] in _ALLOCATING


def written_by(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[torch.Tensor]:
    """The tensors that an operation writes. Collectives do not say: they are taken to write all that they are given."""
    name, places = _overload(func)
    for place in places:
        value = args[place] if isinstance(place, int) and place < len(args) else kwargs.get(place)
        yield from _tensors(value)
    if name.startswith(("c10d::", "_c10d_functional::")):
        for value in (*args, *kwargs.values()):
            yield from _tensors(value)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)


_ALLOCATING = frozenset(
    f"aten::{name}" for name in ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty")
) | {"aten::new_empty_strided"}


@functools.cache
def _overload(func: Any) -> tuple[str, tuple[Any, ...]]:
    """Its name, and where it takes what it writes: as a number and by name."""
    schema = getattr(func, "_schema", None)
    if schema is None:
        return "", ()
    written = [
        place
        for number, argument in enumerate(schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
        for place in (number, argument.name)
    ]
    return schema.name, tuple(written)
