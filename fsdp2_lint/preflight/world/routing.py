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
ROUTES = "how many rows each rank sends and gets here depends on values: they are taken to be spread evenly"
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


def route_evenly(limits: Limits) -> None:
    """Sizes of parts that do not fit come from stand-ins: the script would fail, and the job would not.

    Where the collective makes its own output, even parts fit; where the script has made one, it is too small already.
    """

    def sized(original: Callable[..., Any], fill: Callable[[list[int], int], None]) -> Callable[..., Any]:
        def all_to_all_single(*args: Any, **kwargs: Any) -> Any:
            given = arguments(original, args, kwargs)
            sent: Any = given.get("input", given.get("self"))
            parts = given.get("input_split_sizes")
            if parts and rehearsal.has_no_values(sent) and sum(map(int, parts)) != sent.size(0):
                for each in (parts, given["output_split_sizes"]):
                    fill(each, sent.size(0))
            return original(*args, **kwargs)

        return all_to_all_single

    def even(parts: list[int], rows: int) -> None:
        # The script's own list: what comes back is cut by the same one.
        limits.say(ROUTES, here().at)
        parts[:] = spread(rows, len(parts), torch.long).tolist()

    def refused(parts: list[int], rows: int) -> None:
        raise CannotRehearse(UNKNOWN)

    instead(rehearsal.spots_of_groups("all_to_all_single"), lambda original: sized(original, refused))
    instead(rehearsal.spots_of_functional("all_to_all_single"), lambda original: sized(original, even))
