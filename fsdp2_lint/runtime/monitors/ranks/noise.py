"""Random numbers that a model draws in its forward: where the generator of each rank stands when it begins.

No function that draws is watched: scripted code refuses other functions than torch's own. What was drawn is told by the
generator, which stands elsewhere afterwards. Reading it waits for no GPU: it is kept on the host.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ....vocab.facts import Fact
from ....vocab.finding import Moment
from ... import adapter, facts
from ...agreement.digests import digest
from ...ledger import label_of
from ...session import Session
from ...sites import here

KIND = "noise"


def install(session: Session) -> None:
    if not session.compares(KIND):
        return
    watch = _Watch(session)
    session.watch_fsdp2("first_forward", before=watch.entered)
    session.watch_fsdp2("pre_backward", before=watch.backward)


@dataclass(frozen=True, slots=True)
class _Forward:
    """The first of a step."""

    when: Moment
    label: str
    ranks: tuple[int, ...]
    device: torch.device
    stood: str


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.begun: _Forward | None = None
        self.noted = 0  # the step of which a forward was stated

    def entered(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A module of FSDP2 is entered: of a root, that is a forward of the model."""
        is_root = adapter.is_root(args[0])
        if is_root is False or is_root and adapter.forward_is_running(args[0]) or self.session.step < self.noted:
            return
        self.begun = None
        module = adapter.modules_of(args[0])[0]
        ranks = facts.ranks_with_batches_of_their_own(self.session, module)
        device = _device_of(module)
        if torch.is_grad_enabled() and len(ranks) > 1 and device is not None and not adapter.is_captured():
            self.begun = _Forward(here(), label_of(module), ranks, device, _place_of(device))

    def backward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A group is about to be gathered for backward; the first one ends the forward."""
        begun, self.begun = self.begun, None
        if begun is None or adapter.is_captured() or _place_of(begun.device) == begun.stood:
            return
        self.noted = self.session.step + 1
        values = {"generator": begun.stood}
        key = f"step {self.noted}"
        self.session.state(Fact(KIND, key, begun.when, begun.ranks, values, traits={"model": begun.label}))


def _device_of(module: nn.Module) -> torch.device | None:
    device = next((parameter.device for parameter in module.parameters()), None)
    return device if device is not None and device.type in ("cpu", "cuda") else None


def _place_of(device: torch.device) -> str:
    return digest(torch.get_rng_state() if device.type == "cpu" else torch.cuda.get_rng_state(device))
