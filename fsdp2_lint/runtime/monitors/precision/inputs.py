"""Inputs that the policy of a sharded module casts, and whether they have to be exact."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ....vocab.answers import Answer, unknown, yes
from ....vocab.events.precision import InputsCast
from ....vocab.finding import Place
from ... import adapter
from ...closure import looked
from ...session import Session
from ...sites import here
from ..shared.units import LOW, OfSharding

MOST_TENSORS = 8  # of one call
MOST_NUMBERS = 2**22  # in one of them
FEW = 8  # pairs of numbers may lie on the unit circle by chance
EXACT = 1e-4
Named = tuple[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class RuntimeInputs(OfSharding):
    """``given``: the tensors that are cast, with the names of the arguments in which they came."""

    given: list[Named]
    dtype: torch.dtype

    def rounded(self) -> Answer[Place]:
        """Of numbers that nothing shows to be exact ones nobody can tell whether they may be rounded."""
        rounded = [self._cast(tensor) for _, tensor in self.given]
        changed = [bool((new != old).any()) for new, (_, old) in zip(rounded, self.given)]
        if not any(changed):
            return looked("the cast changes no number")
        for (name, old), new, differs in zip(self.given, rounded, changed):
            if differs and (words := _integers(old, new)):
                return self._yes(name, words)
        for place, (name, one) in enumerate(self.given):
            for _, other in self.given[place + 1 :]:
                if changed[place] and _on_circle(one, other):
                    most = float((rounded[place] - one).abs().max())
                    return self._yes(name, f"cosines and sines are rounded by up to {most:.1g}")
        return unknown("whether the inputs that the cast rounds have to be exact is not known")

    def _cast(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self.dtype).to(tensor.dtype)

    def _yes(self, name: str, words: str) -> Answer[Place]:
        return yes(Place(self.sharding.when, f"{name} to {adapter.dtype_name(self.dtype)}: {words}"))


def _integers(old: torch.Tensor, new: torch.Tensor) -> str:
    """What becomes of positions or of one number for each sample, in words; empty where it is neither."""
    if not bool(((old == old.round()) & old.isfinite()).all()):
        return ""
    steps = old.dim() in (1, 2) and old.shape[-1] > 1 and bool((old.diff() == 1).float().mean() > 0.5)
    single = old.dim() == 1 or old.dim() == 2 and old.shape[-1] == 1
    if not (steps or single):
        return ""
    at = (new != old).reshape(-1).nonzero()[0]
    what = "positions" if steps else "whole numbers"
    return f"{what} are rounded, {int(old.reshape(-1)[at])} becomes {int(new.reshape(-1)[at])}"


def _on_circle(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Are the two cosines and sines of the same angles?"""
    if one.shape != other.shape or one.numel() < FEW:
        return False
    return bool(((one.double() ** 2 + other.double() ** 2 - 1).abs() < EXACT).all())


def install(session: Session) -> None:
    if any(rule.code == "FSDP505" for rule in session.rules):
        session.watch_fsdp2("casting", before=_Watch(session).cast)


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.seen: dict[int, int] = {}  # by the identity of the state, the step in which it was looked at

    def cast(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """To look at numbers waits for the device: once in a step for each module."""
        state, session = args[0], self.session
        sharding = session.ledger.of_module(adapter.modules_of(state)[0])
        if sharding is None or self.seen.get(id(state)) == session.step or adapter.is_captured():
            return
        self.seen[id(state)] = session.step
        policies = [policy for group in sharding.groups() for policy in group.precisions]
        dtype = next((group.asked_dtype for group in sharding.groups()), None)
        if dtype not in LOW or not all(getattr(policy, "cast_forward_inputs", False) for policy in policies):
            return
        named = _arguments(adapter.modules_of(state)[0], args[1], args[2])
        if given := [each for each in named if _is_cast(each[1], dtype)][:MOST_TENSORS]:
            inputs = RuntimeInputs(session.ledger, sharding, given, dtype)
            session.dispatch(InputsCast(when=here(), inputs=inputs))


def _is_cast(tensor: torch.Tensor, dtype: torch.dtype) -> bool:
    """Data that the cast may round; what needs a gradient was computed, and what is not plain cannot be looked at."""
    plain = type(tensor) is torch.Tensor and not tensor.requires_grad and 0 < tensor.numel() <= MOST_NUMBERS
    return plain and tensor.is_floating_point() and tensor.dtype != dtype and tensor.device.type != "meta"


def _arguments(module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[Named]:
    """The tensors of a call, by the names that the forward of the module has for its arguments."""
    try:
        names = list(inspect.signature(module.forward).parameters)
    except (TypeError, ValueError):
        names = []
    for place, value in enumerate(args):
        name = names[place] if place < len(names) else f"number {place + 1}"
        yield from ((name, tensor) for tensor in _tensors(value))
    for name, value in kwargs.items():
        yield from ((name, tensor) for tensor in _tensors(value))


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _tensors(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for name in value.__dataclass_fields__:
            yield from _tensors(getattr(value, name))
