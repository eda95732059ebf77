"""What a checkpoint would hold, and whether a job of another number of ranks could load it."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sized
from typing import Any

import torch

from ...runtime import adapter
from ..world import Save
from .shape import Checkpoint

DEEPEST = 20  # states of optimizers in states of models; whoever nests deeper, or in a circle, is not followed

_BY_NAME = "dcp writes DTensors by name and by where their parts lie: any number of ranks can read them"
_AS_THEY_ARE = "torch.save writes the shard of this rank: only a job with as many ranks can use it"
_LOCAL = "what it holds was taken out of DTensors: nothing says which part of a parameter it is"
_WHOLE = "it holds whole tensors"
_NOTHING = "it holds no tensors"


def checkpoint_of(save: Save, shards: Container[int]) -> Checkpoint:
    """Read while the state is as it was saved. ``shards``: where the memory of this rank's parts of parameters is."""
    tensors = list(_tensors(save.state))
    dtensors = [each for each in tensors if isinstance(each, adapter.DTensor)]
    cut = [each for each in dtensors if each.to_local().shape != each.shape]
    plain = [each for each in tensors if not isinstance(each, adapter.DTensor)]
    taken_out = any(adapter.identity_of_memory(each) in shards for each in plain)
    resizable, why = _verdict(save, tensors, cut, taken_out)
    return Checkpoint(
        by=save.by,
        target=save.target,
        at=save.site,
        dtensors=len(dtensors),
        plain=len(plain),
        whole=sum(each.nbytes for each in dtensors),
        own=sum(adapter.local(each).nbytes for each in tensors),
        resizable=resizable,
        why=why,
    )


def _verdict(save: Save, tensors: Sized, cut: Sized, taken_out: bool) -> tuple[bool, str]:
    if not tensors:
        return True, _NOTHING
    if taken_out:
        return False, _LOCAL
    if save.by != "torch.save":
        return True, _BY_NAME
    return (False, _AS_THEY_ARE) if cut else (True, _WHOLE)


def _tensors(state: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    if isinstance(state, torch.Tensor):
        yield state
    elif depth < DEEPEST and isinstance(state, Mapping):
        for each in state.values():
            yield from _tensors(each, depth + 1)
    elif depth < DEEPEST and isinstance(state, (list, tuple)):
        for each in state:
            yield from _tensors(each, depth + 1)
    elif depth < DEEPEST and callable(own := getattr(state, "state_dict", None)):  # what dcp calls Stateful
        yield from _tensors(own(), depth + 1)
