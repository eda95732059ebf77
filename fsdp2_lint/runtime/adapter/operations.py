"""The operations that torch executes while a function runs, below autograd. What they compute is what they ever do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakIdKeyDictionary

from .modules import local


@dataclass(frozen=True, slots=True)
class Operation:
    """``name`` as in ``mm``; ``known``: is it one of torch's own? ``changed`` are arguments that it writes into."""

    name: str
    known: bool
    given: list[torch.Tensor]
    changed: list[torch.Tensor]
    made: list[torch.Tensor]


class Operations(TorchDispatchMode):
    """Calls ``seen`` after each operation; those inside a DTensor's are not seen."""

    def __init__(self, seen: Callable[[Operation], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._seen = seen

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
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
        yield Operation(name, space == "aten", given, tensors_in(written), tensors_in(result))
        return
    single = [each for each in (*args, *kwargs.values()) if isinstance(each, torch.Tensor)]
    for place in range(len(args[0])):
        given = [*single, *(item for each in (*args, *kwargs.values()) for item in _at(each, place))]
        yield Operation(name, True, given, [item for each in written for item in _at(each, place)], _at(result, place))


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


class Marks:
    """Words for tensors, by identity, that go with them; a DTensor has those of this rank's part."""

    def __init__(self) -> None:
        self._words = WeakIdKeyDictionary()

    def __getitem__(self, tensor: torch.Tensor) -> str:
        return str(self._words.get(local_itself(tensor), ""))

    def __setitem__(self, tensor: torch.Tensor, words: str) -> None:
        if words:
            self._words[local_itself(tensor)] = words
        else:
            self._words.pop(local_itself(tensor), None)


def local_itself(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's part of a DTensor, and any other tensor as it is."""
    return local(tensor) if hasattr(tensor, "_local_tensor") else tensor
