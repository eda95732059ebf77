"""Which parameters an optimizer's own state dict numbers, for ranks that do not share one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ....vocab.facts import Fact
from ....vocab.finding import Moment
from ... import adapter
from ...agreement.digests import sample
from ...facts import short
from ...ledger import Built
from ...session import Session
from .payloads import numbered, tensors_in


def numbers_stated(session: Session, value: Any, when: Moment) -> bool:
    """Is it said which they are? Ranks of one mesh shard the same ones; others ought to have copies of them."""
    if not session.compares("optimizer-numbers"):
        return False
    stated = False
    everyone = tuple(range(adapter.all_ranks()))
    written = {id(tensor) for _, state in numbered(value) for tensor in tensors_in(state)}
    for built in session.ledger.optimizers if written else ():
        held = [each for each in built.held() if isinstance(each, adapter.DTensor)]
        meshes = {adapter.ranks_of(each.device_mesh) for each in held}
        if len(meshes) != 1 or not _is_in(built, written):
            continue
        ranks = meshes.pop()
        if len(ranks) < len(everyone) and adapter.own_rank() in ranks:
            key = f"{built.label} at {when.at}, shard {ranks.index(adapter.own_rank())} of {len(ranks)}"
            values = {"parameters": _told(session, held)}
            session.state(Fact("optimizer-numbers", key, when, everyone, values))
            stated = True
    return stated


def _is_in(built: Built, written: set[int]) -> bool:
    optimizer = built.optimizer()
    return optimizer is not None and any(id(each) in written for each in tensors_in(list(optimizer.state.values())))


def _told(session: Session, held: Sequence[torch.Tensor]) -> str:
    """The names in their order, with the values of this rank: copies are equal, and stages are not."""
    managed = session.ledger.managed(session.ledger.shardings)
    names = (managed[id(each)][1].fqn if id(each) in managed else "" for each in held)
    return short(" ".join(f"{name} {list(each.shape)} {sample(each)}" for name, each in zip(names, held)))
