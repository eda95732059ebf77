"""Gradients that FSDP2 holds outside ``p.grad``, where no optimizer, no clipping and no ``zero_grad`` reaches them."""

from __future__ import annotations

from . import places
from .groups import Group


def holds_gradients(group: Group) -> bool:
    """Between two backwards: does the group keep gradients that were not reduced over all of its ranks?"""
    return any(param.has_gradient for param in group.params) or places.OF_REPLICA.read(group.raw) is not None


def reduces_over_replicas(group: Group) -> bool:
    """Would a backward bring the gradients of all replicas together? Of one replica there is nothing to do."""
    return not group.replicated or bool(places.REDUCES_REPLICAS.read(group.raw))
