"""Calls of the state-dict helpers of DCP, while they are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch.optim import SGD, Optimizer

from ...vocab.answers import Answer, yes
from ...vocab.finding import Moment, Place
from ..closure import looked


@dataclass(frozen=True, slots=True)
class RuntimeHelper:
    """``states``: the dicts that are set; ``backward_at``: where gradients were last computed."""

    name: str
    when: Moment
    options: Any
    optimizers: tuple[Optimizer, ...] = ()
    states: tuple[Any, ...] = ()
    backward_at: Moment | None = None

    def cold_with_gradients(self) -> Answer[Place]:
        for optimizer in self.optimizers:
            if not optimizer.state and keeps_state(optimizer) and _has_gradients(optimizer):
                return yes(Place(self.backward_at or self.when, type(optimizer).__name__))
        return looked("the state of the optimizer was looked at")

    def empty_here(self) -> Answer[Place]:
        if not self._set("full_state_dict") or self._set("broadcast_from_rank0"):
            return looked("the state dict has something in it on this rank")
        empty = any(isinstance(state, Mapping) and not state for state in self.states)
        return (
            yes(Place(self.when, "this rank")) if empty else looked("the state dict has something in it on this rank")
        )

    def broadcasts_shards(self) -> Answer[Place]:
        alone = self._set("broadcast_from_rank0") and not self._set("full_state_dict")
        return yes(Place(self.when)) if alone else looked("the options were looked at")

    def _set(self, option: str) -> bool:
        return bool(getattr(self.options, option, False))


def keeps_state(optimizer: Optimizer) -> bool:
    """Plain SGD keeps nothing from step to step."""
    return type(optimizer) is not SGD or any(group.get("momentum") for group in optimizer.param_groups)


def _has_gradients(optimizer: Optimizer) -> bool:
    return any(param.grad is not None for group in optimizer.param_groups for param in group["params"])
