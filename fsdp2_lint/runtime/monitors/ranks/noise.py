"""Where random numbers are drawn for a sharded model: at which place the generator stands then."""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.nn.functional as F

from ....vocab.facts import Fact
from ... import adapter, facts
from ...agreement.digests import digest
from ...patches import argument
from ...session import Session
from ...sites import called_by_torch, here

KIND = "noise"


def install(session: Session) -> None:
    if not session.compares(KIND):
        return
    watch = _Watch(session)
    session.watch((F, "dropout"), before=watch.dropout)
    for name in ("randn_like", "rand_like"):
        session.watch((torch, name), before=watch.drawn(name))


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.noted: set[tuple[str, int]] = set()  # function and step: the first call of a step tells

    def dropout(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        rate = args[1] if len(args) > 1 else kwargs.get("p", 0.5)
        training = args[2] if len(args) > 2 else kwargs.get("training", True)
        if training and rate:
            self._note("dropout", argument(args, kwargs, 0, "input"))

    def drawn(self, name: str) -> Any:
        def drawn(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if kwargs.get("generator") is None and not called_by_torch(sys._getframe()):
                self._note(f"torch.{name}", argument(args, kwargs, 0, "input"))

        return drawn

    def _note(self, function: str, like: Any) -> None:
        """Reading where a generator stands waits for no GPU: it is kept on the host."""
        step = self.session.step + 1
        models = self.session.ledger.models
        top = models[-1].module() if models else None
        if top is None or (function, step) in self.noted or not isinstance(like, torch.Tensor):
            return
        if isinstance(like, adapter.DTensor) or adapter.is_fake(like) or not torch.is_grad_enabled():
            return
        state = _state_of(like.device) if not adapter.is_captured() and not adapter.is_traced() else None
        ranks = facts.ranks_with_batches_of_their_own(self.session, top)
        if state is not None and len(ranks) > 1:
            self.noted.add((function, step))
            values = {"generator": f"{digest(state)}"}
            key = f"{function}, step {step}"
            self.session.state(Fact(KIND, key, here(), ranks, values, traits={"function": function}))


def _state_of(device: torch.device) -> torch.Tensor | None:
    if device.type == "cpu":
        return torch.get_rng_state()
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else None
