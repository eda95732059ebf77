"""Loads by names that need not fit: where none of them does, nothing is loaded, whoever looks at that."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Moment, Place
from ...closure import looked
from .payloads import WRAPPERS


@dataclass(frozen=True, slots=True)
class RuntimeMatching:
    """``given``: what is loaded into ``model``, by names."""

    name: str  # of the call
    when: Moment
    given: Any
    model: nn.Module
    strict: bool

    def misses_unseen(self) -> Answer[Place]:
        if self.strict:
            return looked("it is strict")
        given = {_plain(name) for name in self.given} if isinstance(self.given, Mapping) else set()
        own = {_plain(name) for name, _ in (*self.model.named_parameters(), *self.model.named_buffers())}
        return _compared(given, own, "none of these names is in the model", self.when)


@dataclass(frozen=True, slots=True)
class RuntimePlanned:
    """``planner``: of a load of DCP that is over: with the names that it was given and those of the checkpoint."""

    planner: Any
    when: Moment
    name: str = "dcp.load"

    def misses_unseen(self) -> Answer[Place]:
        """Of numbers beside the tensors it is not asked."""
        if not getattr(self.planner, "allow_partial_load", False):
            return looked("its planner does not allow for missing names")
        asked = getattr(self.planner, "state_dict", None)
        there = getattr(getattr(self.planner, "metadata", None), "state_dict_metadata", None)
        if asked is None or there is None:
            return unknown("which names its planner compares is not known")
        tensors = {name for name, value in asked.items() if isinstance(value, torch.Tensor)}
        return _compared(tensors, there.keys(), "none of these names is in the checkpoint", self.when)


def _compared(given: Collection[str], own: Collection[str], words: str, when: Moment) -> Answer[Place]:
    if not given or any(name in own for name in given):
        return looked("the names were compared")
    return yes(Place(when, words))


def _plain(name: object) -> str:
    """Without what wrappers put into it: DCP does not mind them."""
    return ".".join(part for part in str(name).split(".") if part not in WRAPPERS)
