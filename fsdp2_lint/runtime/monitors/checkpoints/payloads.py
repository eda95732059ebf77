"""What is written to files, read from them, and read out of tensors."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from ....vocab.answers import Answer, Many, many, unknown, yes
from ....vocab.behaviour import Behaviour
from ....vocab.finding import Moment, Place, Site
from ....vocab.objects import Shards
from ... import adapter
from ...closure import looked
from ...ledger import Ledger
from .local_shards import LocalParts

_DEPTH, _ITEMS = 8, 100_000
WRAPPERS = ("_orig_mod", "_checkpoint_wrapped_module")  # in the names of parameters


def tensors_in(value: Any, depth: int = _DEPTH) -> Iterator[torch.Tensor]:
    """The tensors in nested containers."""
    if isinstance(value, torch.Tensor):
        yield value
    elif is_array(value):
        yield torch.as_tensor(value)
    elif isinstance(value, nn.Module):
        yield from value.parameters()
    elif depth and isinstance(value, Mapping):
        for item in list(value.values())[:_ITEMS]:
            yield from tensors_in(item, depth - 1)
    elif depth and isinstance(value, (list, tuple, set)):
        for item in list(value)[:_ITEMS]:
            yield from tensors_in(item, depth - 1)
    elif depth and dataclasses.is_dataclass(value) and not isinstance(value, type):
        for name in value.__dataclass_fields__:
            yield from tensors_in(getattr(value, name), depth - 1)


def is_array(value: Any) -> bool:
    """An array of numpy, which need not be there, that can be read without a copy and without a warning."""
    kind = type(value)
    return (
        kind.__module__ == "numpy"
        and kind.__name__ == "ndarray"
        and value.dtype.kind in "fiu"
        and value.flags.writeable
    )


def path_of(file: Any) -> str:
    """Of what is handed to ``torch.save``; empty where it has none."""
    if isinstance(file, (str, os.PathLike)):
        return str(os.fspath(file))
    return name if isinstance(name := getattr(file, "name", ""), str) else ""


@dataclass(frozen=True, slots=True)
class RuntimePayload:
    value: Any
    path: str = ""
    read_at: Moment | None = None
    target: nn.Module | None = None  # the module that it is loaded into
    planned: bool = False  # by a planner of the job's own
    ledger: Ledger | None = None  # where what is written may hold parts of parameters that are no DTensors any more

    def shards(self) -> Many[Shards]:
        parts = LocalParts(self.ledger) if self.ledger is not None else None
        held = local = 0
        for each in tensors_in(self.value):
            if isinstance(each, adapter.DTensor):
                held += any(not placement.is_replicate() for placement in each.placements)
            elif parts is not None:
                local += each in parts
        return many(
            [*_counted(held, "sharded tensor"), *_counted(local, "tensor of this rank's shards alone")],
            looked("all tensors of what is saved were looked at"),
        )

    def path_per_rank(self) -> Answer[object]:
        """The file's name holds this rank's number. Where that could be chance, the other ranks' names tell."""
        if not self.path:
            return unknown("where it is written to is not known")
        rank = adapter.own_rank()
        name = os.path.basename(self.path)
        said = re.search(rf"rank\D{{0,3}}0*{rank}(?!\d)", self.path, re.IGNORECASE)
        numbered = rank > 0 and re.search(rf"(?<!\d)0*{rank}(?!\d)", name)
        folder = str(rank) in self.path.split(os.sep)[:-1]
        return yes(True) if said or numbered or folder else looked("the path does not name the rank")

    def full_tensors(self) -> Answer[object]:
        if self.target is None or not isinstance(self.value, Mapping):
            return unknown("what is loaded is not a state dict")
        parameters = dict(self.target.named_parameters())
        plain = [
            name
            for name, value in self.value.items()
            if isinstance(value, torch.Tensor)
            and not isinstance(value, adapter.DTensor)
            and isinstance(parameters.get(name), adapter.DTensor)
        ]
        return yes(self.read_at) if plain else looked("the tensors are DTensors")

    def receives_nothing(self) -> Answer[str]:
        if not isinstance(self.value, Mapping):
            return unknown("what is loaded into is not a dict")
        if self.planned:
            return unknown("a planner of its own may put in what is missing")
        if _is_empty(self.value):
            return yes("nothing but empty dicts" if self.value else "an empty dict")
        whole = {"the state": self.value} if "param_groups" in self.value else {}
        for name, value in (whole or {f"{key!r}": value for key, value in self.value.items()}).items():
            if _is_cold(value):
                return yes(f"{name}, the state of an optimizer that has not stepped yet, which is empty")
        return looked("there is something to load into")


def _counted(count: int, what: str) -> list[Shards]:
    kind, _, rest = what.partition(" of ")
    return [Shards(f"{count} {kind}{'s' if count > 1 else ''}{' of ' + rest if rest else ''}")] if count else []


@dataclass(frozen=True, slots=True)
class RuntimeKeys:
    value: Any
    when: Moment

    def prefixed(self) -> Answer[Place]:
        key = next(_prefixed_keys(self.value), None)
        return looked("the keys were looked at") if key is None else yes(Place(self.when, repr(key)))


@dataclass(frozen=True, slots=True)
class RuntimeWritten:
    value: Any
    when: Moment
    compared: bool = False  # with that of ranks which do not share its mesh

    def numbered(self) -> Answer[Place]:
        if self.compared:
            return unknown("what the other ranks have under the same numbers is compared in the end")
        name = next((name for name, _ in numbered(self.value)), None)
        return looked("the keys were looked at") if name is None else yes(Place(self.when, name))

    def staged(self) -> Answer[Place]:
        return unknown("no rank knows alone what the others have")


def numbered(value: Any, name: str = "the optimizer", depth: int = 4) -> Iterator[tuple[str, Any]]:
    """The keys under which optimizers are, or their own state dicts, which number the parameters; and their state."""
    if isinstance(value, Optimizer):
        yield name, list(value.state.values())
    elif depth and isinstance(value, Mapping):
        if _is_of_optimizer(value):
            if isinstance(value["state"], Mapping) and any(isinstance(key, int) for key in value["state"]):
                yield name, value["state"]
            return
        for key, item in value.items():
            yield from numbered(item, repr(key), depth - 1)


def _prefixed_keys(value: Any, depth: int = 4) -> Iterator[str]:
    if not depth or not isinstance(value, Mapping):
        return
    for key, item in value.items():
        if isinstance(key, str) and any(name in key.split(".") for name in WRAPPERS):
            yield key
        yield from _prefixed_keys(item, depth - 1)


def _is_empty(value: Any) -> bool:
    """A dict with nothing in it, however deep: of a part that is empty DCP keeps no entry."""
    return isinstance(value, Mapping) and all(map(_is_empty, value.values()))


def _is_of_optimizer(value: Any) -> bool:
    return isinstance(value, Mapping) and {"state", "param_groups"} <= value.keys()


def _is_cold(value: Any) -> bool:
    """Is it an optimizer, or the state of one, that has no state and will have some?"""
    if isinstance(value, Optimizer):
        value = {"state": value.state, "param_groups": value.param_groups}
    if not _is_of_optimizer(value) or value["state"]:
        return False
    return not all(_is_plain_sgd(group) for group in value["param_groups"])


def _is_plain_sgd(group: Any) -> bool:
    """Without momentum it keeps nothing from step to step."""
    return isinstance(group, Mapping) and "nesterov" in group and "betas" not in group and not group.get("momentum")


@dataclass(frozen=True, slots=True)
class RuntimeReading:
    tensor: Any
    name: str

    def partial(self) -> Answer[tuple[str, Site | None]]:
        placements = [each for each in self.tensor.placements if each.is_partial()]
        return yes((str(placements[0]), None)) if placements else looked("the tensor is whole on each rank")

    def in_some_versions(self) -> Answer[Behaviour]:
        return looked("its placement says all")

    def sharding(self) -> Answer[Place]:
        return unknown("a tensor does not know of which model it is")
