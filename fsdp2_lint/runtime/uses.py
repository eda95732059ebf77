"""Weights that an operation refused, because they were shards: whose they are, and where the user reached for them."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType, TracebackType

from torch import nn

from ..vocab.events.forward import WeightUsed
from ..vocab.finding import Moment
from . import adapter
from .ledger import Ledger, Sharding, label_of
from .monitors.shared.parts import RuntimeWeight
from .session import Session
from .sites import is_users, moment_of

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
    own = [index for index, (frame, _) in enumerate(frames) if is_users(frame.f_code.co_filename)]
    if own and (weight_here := next(_weights(session.ledger, frames[own[-1]][0]), None)) is not None:
        session.dispatch(WeightUsed(when=until(frames, own[-1] + 1), weight=weight_here))


def _weights(ledger: Ledger, frame: FrameType) -> Iterator[RuntimeWeight]:
    """What the operation can have got hold of: a parameter by name, else one of a model by name."""
    managed = ledger.managed(ledger.shardings)
    values = list(frame.f_locals.values())
    for value in values:
        if id(value) in managed and isinstance(value, adapter.DTensor):
            sharding, param = managed[id(value)]
            yield RuntimeWeight(param.fqn, sharding)
    for value in values:
        if isinstance(value, nn.Module) and (shardings := ledger.inside(value)):
            yield RuntimeWeight(f"a parameter of {label_of(value)}", shardings[-1])
