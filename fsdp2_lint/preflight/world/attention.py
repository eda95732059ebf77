"""Attention that torch has on GPUs and not on CPUs: over tensors that ranks share, and FlexAttention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch.distributed.tensor import DTensor
from torch.nn.attention import flex_attention as flex

from ...runtime.sites import here
from .devices import Handler
from .place import CannotRehearse, Limits
from .replacing import arguments, instead

FLEX = "flex_attention is plain attention here: its mask and its score_mod change values, and no shape"
OTHERWISE = "attention over tensors that are shared by ranks in another way than by batches and heads is not rehearsed"


def attend() -> tuple[Any, Handler]:
    """The function, and what answers in its place."""
    attention = F.scaled_dot_product_attention

    # Sound: each rank attends over its own batches and heads, as the kernels of a GPU do; nothing is sent.
    def handler(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        shared = [each for each in (*args, *kwargs.values()) if isinstance(each, DTensor)]
        if not shared:
            return attention(*args, **kwargs)
        mesh, placements = shared[0].device_mesh, shared[0].placements
        apart = all(each.is_replicate() or each.is_shard(0) or each.is_shard(1) for each in placements)
        if not apart or any(each.device_mesh != mesh or each.placements != placements for each in shared):
            raise CannotRehearse(OTHERWISE)
        own = attention(*map(_own, args), **{name: _own(each) for name, each in kwargs.items()})
        return DTensor.from_local(own, mesh, placements, run_check=False)

    return attention, handler


def _own(value: Any) -> Any:
    return value.to_local() if isinstance(value, DTensor) else value


def attend_flexibly(limits: Limits) -> None:
    """``flex_attention`` is plain attention, once this was said: right in shapes and dtypes."""

    def plain(original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound for shapes and dtypes of what goes in, comes out and is kept for backward.
        def flex_attention(*args: Any, **kwargs: Any) -> Any:
            limits.say(FLEX, here().at)
            given = arguments(original, args, kwargs)
            query, key, value = given["query"], given["key"], given["value"]
            grouped = bool(given.get("enable_gqa", False))
            result = F.scaled_dot_product_attention(query, key, value, scale=given.get("scale"), enable_gqa=grouped)
            sums = query.new_zeros(query.shape[:-1], dtype=torch.float32)
            if (asked := given.get("return_aux")) is not None:
                return result, flex.AuxOutput(
                    lse=sums if asked.lse else None, max_scores=sums if asked.max_scores else None
                )
            return (result, sums) if given.get("return_lse") else result

        return flex_attention

    instead([(flex, "flex_attention")], plain)
