"""DTensors that are turned into numbers."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from ....vocab.events.training import ValueRead
from ...session import Session
from ...sites import called_by_torch, here
from ..checkpoints.payloads import RuntimeReading

_METHODS = {"item": "item()", "__float__": "float()", "__int__": "int()", "__bool__": "a condition"}


def install(session: Session) -> None:
    def note(tensor: DTensor, name: str) -> None:
        # What torch reads itself, such as an optimizer that looks at its own step, is its own affair.
        if any(each.is_partial() for each in tensor.placements) and not called_by_torch(sys._getframe()):
            session.dispatch(ValueRead(when=here(), reading=RuntimeReading(tensor, name)))

    guarded = session.quietly(note)
    for method, name in _METHODS.items():
        session.hot.replace(DTensor, method, _watched(session, method, name, guarded))


def _watched(session: Session, method: str, name: str, note: Any) -> Any:
    original = getattr(torch.Tensor, method)

    def read(self: DTensor) -> Any:
        if session.hot.live:
            note(self, name)
        return original(self)

    read.__name__ = method
    return read
