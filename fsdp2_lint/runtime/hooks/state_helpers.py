"""The state-dict helpers of DCP. As all of checkpointing, they are watched to the end of the job."""

from __future__ import annotations

import sys
from typing import Any

from torch.distributed.checkpoint import state_dict as helpers
from torch.optim import Optimizer

from ...vocab.events.state_dicts import OptimizerStateRead, StateSet
from ..handles import RuntimeHelper
from ..session import Session
from ..sites import called_by_torch, here

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
            session.rare.watch((helpers, name), before=session.quietly(_watch(session, name)))


def _watch(session: Session, name: str) -> Any:
    def called(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not session.ledger.shardings or called_by_torch(sys._getframe()):
            return
        when, options = here(), kwargs.get("options")
        if name in SETTERS:
            states = tuple(_argument(args, kwargs, *place) for place in SETTERS[name])
            session.hear(StateSet(when=when, setting=RuntimeHelper(name, when, options, states=states)))
        else:
            given = _argument(args, kwargs, *_OPTIMIZERS)
            optimizers = (given,) if isinstance(given, Optimizer) else tuple(given or ())
            reading = RuntimeHelper(name, when, options, optimizers, backward_at=session.ledger.backward_at)
            session.hear(OptimizerStateRead(when=when, reading=reading))

    return called


def _argument(args: tuple[Any, ...], kwargs: dict[str, Any], index: int, name: str) -> Any:
    return args[index] if len(args) > index else kwargs.get(name)
