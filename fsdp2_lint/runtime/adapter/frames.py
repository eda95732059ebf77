"""What only the frames of torch's own functions know: the arguments of calls that are being executed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from torch import nn


def frames_from(frame: FrameType | None) -> Iterator[FrameType]:
    """The frame and its callers, innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def only_wraps(frame: FrameType) -> bool:
    """Is it what ``torch.no_grad()`` and the like put around a function? From torch 2.15 on it bears their name."""
    return frame.f_globals.get("__name__") == "torch.utils._contextlib"


def call_of_fully_shard(frame: FrameType | None) -> Mapping[str, Any]:
    """The arguments of the ``fully_shard`` call that is being executed, from its frame; empty if it is not found."""
    for each in frames_from(frame):
        if each.f_code.co_name == "fully_shard" and "module" in each.f_code.co_varnames:
            values = each.f_locals
            return {name: values[name] for name in ("module", "mesh", "ignored_params") if name in values}
    return {}


def inputs_of_forward(frame: FrameType | None) -> tuple[Any, ...]:
    """What the root whose forward begins was called with, from the frame of its hook."""
    for each in frames_from(frame):
        if each.f_code.co_name == "_root_pre_forward":
            return each.f_locals.get("args", ()), each.f_locals.get("kwargs", {})
    return ()


def only_makes_states(frame: FrameType | None) -> bool:
    """Is this a step that torch makes with a learning rate of 0, so that a state dict has something to fill?"""
    return any(each.f_code.co_name == "_init_optim_state" for each in frames_from(frame))


@dataclass(frozen=True, slots=True)
class Stage:
    """A module as one stage of a pipeline, which ``ranks`` ranks run together."""

    module: nn.Module
    ranks: int


def stage_that_runs(frame: FrameType | None) -> Stage | None:
    """The stage of torch's pipelines whose forward is being executed. The package is only loaded by who uses it."""
    base: Any = getattr(sys.modules.get("torch.distributed.pipelining.stage"), "_PipelineStageBase", None)
    for each in frames_from(frame) if base is not None else ():
        stage = each.f_locals.get("self") if each.f_code.co_varnames[:1] == ("self",) else None
        if isinstance(stage, base) and isinstance(module := getattr(stage, "submod", None), nn.Module):
            return Stage(module, int(getattr(stage, "group_size", 1)))
    return None


def clips_by_their_own_norm(frame: FrameType | None) -> bool:
    """Inside the scaling of gradients: is it by the norm that ``clip_grad_norm_`` has just made of them?"""
    return any(
        each.f_code.co_name == "clip_grad_norm_" and each.f_globals.get("__name__") == "torch.nn.utils.clip_grad"
        for each in frames_from(frame)
    )


def issued_by_the_job(frame: FrameType | None) -> bool:
    """Inside a collective: is it one that the job asks for, and not FSDP2 or a DTensor?"""
    names = {each.f_globals.get("__name__", "") for each in frames_from(frame)}
    return not any(name.startswith(_ISSUING) for name in names)


_ISSUING = (
    "torch.distributed.fsdp._fully_shard.",
    "torch.distributed._composable.fsdp.",
    "torch.distributed.tensor.",
    "torch.distributed._tensor.",
    "torch.distributed.checkpoint.",
)


def modules_that_are_called(frame: FrameType | None) -> list[nn.Module]:
    """The modules whose call is being executed, innermost first."""
    found: list[nn.Module] = []
    for each in frames_from(frame):
        if each.f_code.co_name in ("_call_impl", "_wrapped_call_impl"):
            module = each.f_locals.get("self")
            if isinstance(module, nn.Module) and not (found and found[-1] is module):
                found.append(module)
    return found
