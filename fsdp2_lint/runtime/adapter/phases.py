"""In which part of a training step a group stands."""

from __future__ import annotations

from . import places
from .groups import Group


def in_forward(group: Group) -> bool:
    return _phase(group) == "FORWARD"


def before_backward(group: Group) -> bool:
    """Is it gathered again, since gradients have come to it?"""
    return _phase(group) == "PRE_BACKWARD"


def _phase(group: Group) -> str:
    return str(places.PHASE.read(group.raw).name)
