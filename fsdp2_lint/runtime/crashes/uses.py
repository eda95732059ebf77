"""Weights that an operation refused, because they were shards: whose they are, and where the user reached for them."""

from __future__ import annotations

from types import FrameType, TracebackType

from torch import nn

from ...vocab.events.forward import WeightUsed
from ...vocab.finding import Moment
from .. import adapter
from ..expressions import operands
from ..ledger import Ledger, Sharding, label_of
from ..monitors.shared.parts import RuntimeWeight
from ..session import Session
from ..sites import is_users, moment_of
from ..stand_ins import shard_behind

Frames = list[tuple[FrameType, TracebackType]]


def until(frames: Frames, index: int) -> Moment:
    """Where the call stands that opened a frame."""
    return moment_of([(frame.f_code, entry.tb_lasti, entry.tb_lineno) for frame, entry in frames[:index]][::-1])


def part_of_group(ledger: Ledger, module: nn.Module) -> Sharding | None:
    """The group that the parameters of a module below a sharded one belong to."""
    parts = {id(part) for part in module.modules()}
    for sharding in ledger.shardings:
        if any(id(param.module) in parts for param in sharding.params()):
            return sharding
    return None


def judge(session: Session, frames: Frames) -> None:
    """An operation met a plain tensor and a shard, in no method of a sharded module."""
    for index, (frame, _) in enumerate(frames):
        module = frame.f_locals.get("self")
        if not isinstance(module, nn.Module) or index == 0:
            continue
        if adapter.state_of(module) is not None:
            break  # what it calls is its own affair
        if sharding := part_of_group(session.ledger, module):
            if module in session.ledger.below:
                weight = RuntimeWeight(f"a parameter of {label_of(module)}", sharding)
                session.dispatch(WeightUsed(when=until(frames, index), weight=weight))
                return
    for index, (frame, entry) in reversed(list(enumerate(frames))):
        if is_users(frame.f_code.co_filename):
            if (weight_here := _shard_named(session.ledger, frame, entry.tb_lasti)) is not None:
                session.dispatch(WeightUsed(when=until(frames, index + 1), weight=weight_here))
                return


def _shard_named(ledger: Ledger, frame: FrameType, offset: int) -> RuntimeWeight | None:
    """The parameter, or what was made from one without copying it, that the expression names which failed."""
    for value in operands(frame, offset):
        if isinstance(value, adapter.DTensor) and (found := shard_behind(ledger, value)) is not None:
            sharding, param = found
            return RuntimeWeight(param.fqn, sharding)
    return None
