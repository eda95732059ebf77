"""What only the frames of torch's own functions know: the arguments of calls that are being executed."""

from __future__ import annotations

from collections.abc import Mapping
from types import FrameType
from typing import Any

from torch import nn


def call_of_fully_shard(frame: FrameType | None) -> Mapping[str, Any]:
    """The arguments of the ``fully_shard`` call that is being executed, from its frame; empty if it is not found."""
    while frame is not None:
        if frame.f_code.co_name == "fully_shard" and "module" in frame.f_code.co_varnames:
            values = frame.f_locals
            return {name: values[name] for name in ("module", "mesh", "ignored_params") if name in values}
        frame = frame.f_back
    return {}


def inputs_of_forward(frame: FrameType | None) -> tuple[Any, ...]:
    """What the root whose forward begins was called with, from the frame of its hook."""
    while frame is not None:
        if frame.f_code.co_name == "_root_pre_forward":
            return frame.f_locals.get("args", ()), frame.f_locals.get("kwargs", {})
        frame = frame.f_back
    return ()


def only_makes_states(frame: FrameType | None) -> bool:
    """Is this a step that torch makes with a learning rate of 0, so that a state dict has something to fill?"""
    while frame is not None:
        if frame.f_code.co_name == "_init_optim_state":
            return True
        frame = frame.f_back
    return False


def modules_that_are_called(frame: FrameType | None) -> list[nn.Module]:
    """The modules whose call is being executed, innermost first."""
    found: list[nn.Module] = []
    while frame is not None:
        if frame.f_code.co_name in ("_call_impl", "_wrapped_call_impl"):
            module = frame.f_locals.get("self")
            if isinstance(module, nn.Module) and not (found and found[-1] is module):
                found.append(module)
        frame = frame.f_back
    return found
