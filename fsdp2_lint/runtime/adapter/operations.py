"""The operations that torch executes while a function runs, below autograd. What they compute is what they ever do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakIdKeyDictionary

from .modules import local
from .rehearsal import _find

_OF_TORCH = ("aten", "prim", "prims")
_ALL_REDUCES = frozenset({"allreduce_", "all_reduce", "all_reduce_"})
Word = TypeVar("Word")


@dataclass(frozen=True, slots=True)
class Operation:
    """``name`` as in ``mm``; ``known``: is it one of torch's own? ``changed`` are arguments that it writes into.

    ``reduced_over``: the ranks whose values an all-reduce brings together in what it is given, or in what it returns.
    """

    name: str
    known: bool
    given: list[torch.Tensor]
    changed: list[torch.Tensor]
    made: list[torch.Tensor]
    reduced_over: tuple[int, ...] = ()


class Operations(TorchDispatchMode):
    """Calls ``seen`` after each operation while ``looks()``; those inside a DTensor's are not seen."""

    supports_higher_order_operators = True  # they are handed on

    def __init__(self, seen: Callable[[Operation], None], looks: Callable[[], bool] = lambda: True) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._seen, self._looks = seen, looks

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if self._looks() and isinstance(func, torch._ops.OpOverload):
            for operation in _operations(func, args, kwargs, result):
                self._seen(operation)
        return result


def _operations(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Iterator[Operation]:
    """One, or one for each place of the lists that it was given."""
    space, _, name = func._schema.name.partition("::")
    written = [_argument(index, each.name, args, kwargs) for index, each in enumerate(func._schema.arguments)
               if each.alias_info is not None and each.alias_info.is_write]  # fmt: skip
    if not name.startswith("_foreach"):
        given = [*tensors_in(args), *tensors_in(list(kwargs.values()))]
        ranks = _ranks(func, args) if name in _ALL_REDUCES and space in ("c10d", "_c10d_functional") else ()
        yield Operation(name, space in _OF_TORCH, given, tensors_in(written), tensors_in(result), ranks)
        return
    single = [each for each in (*args, *kwargs.values()) if isinstance(each, torch.Tensor)]
    for place in range(len(args[0])):
        given = [*single, *(item for each in (*args, *kwargs.values()) for item in _at(each, place))]
        yield Operation(name, True, given, [item for each in written for item in _at(each, place)], _at(result, place))


def _ranks(func: Any, args: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(dist.get_process_group_ranks(group_of(func, args)))


def group_of(func: Any, args: tuple[Any, ...]) -> dist.ProcessGroup:
    """The group of a collective's operation."""
    named = {each.name: args[at] for at, each in enumerate(func._schema.arguments) if at < len(args)}
    given = named["process_group"] if "process_group" in named else named["group_name"]
    if isinstance(given, str):
        return _find("torch.distributed.distributed_c10d", "_resolve_process_group")(given)  # type: ignore[no-any-return]
    return given if isinstance(given, dist.ProcessGroup) else dist.ProcessGroup.unbox(given)


def _argument(index: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[index] if index < len(args) else kwargs.get(name)


def _at(value: Any, place: int) -> list[torch.Tensor]:
    item = value[place] if isinstance(value, (list, tuple)) and place < len(value) else None
    return [item] if isinstance(item, torch.Tensor) else []


def tensors_in(value: Any) -> list[torch.Tensor]:
    """In lists and tuples, also in each other; not in dicts."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [each for item in value for each in tensors_in(item)] if isinstance(value, (list, tuple)) else []


class Marks(Generic[Word]):
    """Words for tensors, by identity, that go with them; a DTensor has those of this rank's part."""

    def __init__(self, unmarked: Word) -> None:
        self._unmarked = unmarked
        self._words = WeakIdKeyDictionary()

    def __getitem__(self, tensor: torch.Tensor) -> Word:
        found: Word = self._words.get(local_itself(tensor), self._unmarked)
        return found

    def __setitem__(self, tensor: torch.Tensor, word: Word) -> None:
        if word != self._unmarked:
            self._words[local_itself(tensor)] = word
        else:
            self._words.pop(local_itself(tensor), None)


def local_itself(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's part of a DTensor, and any other tensor as it is."""
    return local(tensor) if hasattr(tensor, "_local_tensor") else tensor
