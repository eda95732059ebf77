"""Switches and operations that belong to the order of a training step."""

from __future__ import annotations

import math

from ....domain import events
from ....domain.values import NONE, Const, Ext, Obj, Value
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external, method
from . import optim

_INFINITE = ("math.inf", "torch.inf", "numpy.inf")


@method("set_requires_gradient_sync")
def switch_sync(machine: Machine, obj: Obj, call: Call) -> Value:
    """``off``: surely switched off here; else it is on, or depends on the micro-batch."""
    value = call.arg(0, "requires_gradient_sync")
    off = value is not None and all(leaf == Const(False) for _, leaf in machine.alternatives(value))
    machine.emit(events.Sync(off=off), call.node, obj)
    return NONE


def clipped(machine: Machine, call: Call) -> None:
    """Without a bound it only computes the norm."""
    bound = call.arg(1, "max_norm")
    if (
        not machine.libraries.any_sharded
        or bound == Const(math.inf)
        or isinstance(bound, Ext)
        and bound.qname in _INFINITE
    ):
        return
    params = call.arg(0, "parameters")
    held, _ = optim.holdings(machine, [params] if params is not None else [])
    if held:
        machine.emit(events.Clipped(held=held), call.node, held[0].model)


@external("torch.nn.utils.clip_grad_value_", "torch.nn.utils.clip_grads_with_norm_")
def clip_otherwise(machine: Machine, call: Call) -> Value:
    clipped(machine, call)
    return NONE
