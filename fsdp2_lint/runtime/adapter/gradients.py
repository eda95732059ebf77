"""Gradients that FSDP2 holds outside ``p.grad``, where no optimizer, no clipping and no ``zero_grad`` reaches them."""

from __future__ import annotations

from typing import Any

from . import places
from .groups import Group


def holds_gradients(group: Group) -> bool:
    """Between two backwards: does the group keep gradients that were not reduced over all of its ranks?"""
    return any(param.has_gradient for param in group.params) or places.OF_REPLICA.read(group.raw) is not None


def reduces_over_replicas(group: Group) -> bool:
    """Would a backward bring the gradients of all replicas together? Of one replica there is nothing to do."""
    return not group.replicated or bool(places.REDUCES_REPLICAS.read(group.raw))


def backward_is_open(state: Any) -> bool:
    """Has a backward run that finalize_backward() is to finish? A torch that has no word for it finishes each."""
    return _of_context(state, "manual_backward_finalization_active") is True


def reduction_is_awaited(state: Any) -> bool:
    """Was it begun with ``finalize_backward(async_op=True)``, and its handle has not waited yet?"""
    return _of_context(state, "gradient_reduction_pending") is True


def _of_context(state: Any, name: str) -> Any:
    return getattr(places.CONTEXT.read(state), name, None) if places.CONTEXT.is_in(state) else None
