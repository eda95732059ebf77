"""The state-dict helpers of DCP. As all of checkpointing, they are watched to the end of the job."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.distributed.checkpoint import state_dict as helpers
from torch.optim import SGD, Optimizer

from ....vocab.answers import Answer, yes
from ....vocab.events.checkpoints import OptimizerStateRead, StateMatched, StateSet
from ....vocab.finding import Moment, Place
from ...closure import looked
from ...patches import argument
from ...session import Session
from ...sites import called_by_torch, here
from .matching import RuntimeMatching


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
        if not empty:
            return looked("the state dict has something in it on this rank")
        return yes(Place(self.when, "this rank"))

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


# Where each helper takes optimizers and state dicts: (position, keyword).
_OPTIMIZERS = (1, "optimizers")
GETTERS = ("get_optimizer_state_dict", "get_state_dict")
SETTERS: dict[str, tuple[tuple[int, str], ...]] = {
    "set_model_state_dict": ((1, "model_state_dict"),),
    "set_optimizer_state_dict": ((2, "optim_state_dict"),),
    "set_state_dict": ((9, "model_state_dict"), (9, "optim_state_dict")),  # by keyword only
}


def install(session: Session) -> None:
    for name in (*GETTERS, *SETTERS):
        if hasattr(helpers, name):
            session.watch((helpers, name), rare=True, before=_watch(session, name))


def _watch(session: Session, name: str) -> Any:
    def called(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not session.ledger.shardings or called_by_torch(sys._getframe()):
            return
        when, options = here(), kwargs.get("options")
        if name in SETTERS:
            states = tuple(argument(args, kwargs, *place) for place in SETTERS[name])
            setting = RuntimeHelper(name, when, options, states=states)
            session.dispatch(StateSet(when=when, setting=setting))
            model = argument(args, kwargs, 0, "model")
            if SETTERS[name][0][1] == "model_state_dict" and isinstance(model, nn.Module):
                loading = RuntimeMatching(name, when, states[0], model, bool(getattr(options, "strict", True)))
                session.dispatch(StateMatched(when=when, loading=loading))
        else:
            given = argument(args, kwargs, *_OPTIMIZERS)
            optimizers = (given,) if isinstance(given, Optimizer) else tuple(given or ())
            reading = RuntimeHelper(name, when, options, optimizers, backward_at=session.ledger.backward_at)
            session.dispatch(OptimizerStateRead(when=when, reading=reading))

    return called
