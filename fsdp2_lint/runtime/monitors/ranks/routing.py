"""Buffers that choose experts: a model with a bias for each of them adds it to the scores, and takes the largest."""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch

from ... import adapter
from ...session import Session


def install(session: Session) -> None:
    if session.compares("replicas"):
        for owner in (torch, torch.Tensor):
            session.hot.replace(owner, "topk", _choosing(session, owner.topk))


def _choosing(session: Session, original: Any) -> Any:
    """Compilers trace it: there is no more in it than has to be."""
    look = session.quietly(_look)

    @functools.wraps(original)
    def topk(*args: Any, **kwargs: Any) -> Any:
        if session.hot.live and not adapter.is_traced() and args:
            look(session, args[0])
        return original(*args, **kwargs)

    return topk


def _look(session: Session, scores: Any) -> None:
    """The buffers of the modules that run with one number for each of the things that are chosen from."""
    if not isinstance(scores, torch.Tensor) or not scores.ndim:
        return
    for module in adapter.modules_that_are_called(sys._getframe()):
        for name, buffer in adapter.own_buffers(module).items():
            if buffer is not None and buffer.is_floating_point() and tuple(buffer.shape) == tuple(scores.shape[-1:]):
                session.ledger.routing.add((id(module), name))
