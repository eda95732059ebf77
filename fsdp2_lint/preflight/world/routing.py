"""Where values decide how much goes where: tokens of experts are taken to be spread evenly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ...runtime.adapter import rehearsal
from ...runtime.sites import here
from .place import CannotRehearse, Limits
from .replacing import arguments, instead

EVENLY = "how many elements fall into each part depends on values here: they are taken to be spread evenly"
UNKNOWN = "the values of tensors decide how many rows each rank sends in an all-to-all, and these are not known here"


def spread(number: int, parts: int, dtype: torch.dtype) -> torch.Tensor:
    """Counts with values: what is computed from them alone has values too, such as how much each rank gets."""
    each, left = divmod(number, parts)
    return torch.tensor([each + (index < left) for index in range(parts)]).to(dtype)


def in_bins(limits: Limits, tensor: torch.Tensor, bins: int = 100, *bounds: Any, **more: Any) -> torch.Tensor:
    limits.say(EVENLY, here().at)
    return spread(tensor.numel(), bins, tensor.dtype)


def counts(limits: Limits, tensor: torch.Tensor, weights: Any = None, minlength: int = 0) -> torch.Tensor:
    limits.say(EVENLY, here().at)
    return spread(tensor.numel(), max(minlength, 1), torch.long if weights is None else torch.double)


def refuse_unknown_routes() -> None:
    """Sizes of parts that do not fit come from stand-ins: the script would fail, and the job would not."""

    def sized(original: Callable[..., Any]) -> Callable[..., Any]:
        def all_to_all_single(*args: Any, **kwargs: Any) -> Any:
            given = arguments(original, args, kwargs)
            sent: Any = given.get("input", given.get("self"))
            parts = given.get("input_split_sizes")
            if parts and rehearsal.has_no_values(sent) and sum(map(int, parts)) != sent.size(0):
                raise CannotRehearse(UNKNOWN)
            return original(*args, **kwargs)

        return all_to_all_single

    instead(rehearsal.spots_of_groups("all_to_all_single"), sized)
    instead(rehearsal.spots_of_functional("all_to_all_single"), sized)
