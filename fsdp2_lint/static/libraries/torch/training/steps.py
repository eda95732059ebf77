"""Switches and operations that belong to the order of a training step."""

from __future__ import annotations

import math

from ....domain import events
from ....domain.formulas import intern, negate
from ....domain.values import NONE, Const, Ext, Obj, Value, unknown
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external, method
from . import optim

_INFINITE = ("math.inf", "torch.inf", "numpy.inf")


def _alone(call: Call) -> bool:
    return call.kwargs.get("recurse") == Const(False)


@method("set_requires_gradient_sync")
def switch_sync(machine: Machine, obj: Obj, call: Call) -> Value:
    """``off``: surely switched off here; else it is on, or depends on the micro-batch."""
    value = call.arg(0, "requires_gradient_sync")
    off = value is not None and all(leaf == Const(False) for _, leaf in machine.alternatives(value))
    on = True if value is None else intern(machine.truth(value))
    machine.emit(events.Sync(off=off, on=on, alone=_alone(call)), call.node, obj)
    return NONE


# The setters, their argument, and the value by which a backward does not do all that it does as ever.
_BACKWARD = {
    "set_requires_all_reduce": ("requires_all_reduce", False),
    "set_reshard_after_backward": ("reshard_after_backward", False),
    "set_manual_backward_finalization": ("enabled", True),
}


@method(*_BACKWARD)
def switch_backward(machine: Machine, obj: Obj, call: Call) -> Value:
    keyword, unusual = _BACKWARD[call.name]
    value = call.arg(0, keyword)
    if call.name == "set_reshard_after_backward" and value != Const(True):
        machine.emit(events.ReshardingSwitched(keeps=False, after="backward"), call.node, obj)
    off = value is not None and all(leaf == Const(unusual) for _, leaf in machine.alternatives(value))
    truth = True if value is None else intern(machine.truth(value))
    on = intern(negate(truth)) if unusual else truth
    machine.emit(events.BackwardSwitched(name=call.name, off=off, on=on, alone=_alone(call)), call.node, obj)
    return NONE


@method("finalize_backward")
def finalize(machine: Machine, obj: Obj, call: Call) -> Value:
    handle = call.arg(None, "async_op")
    machine.emit(events.Finalized(waits=call.fixed and handle in (None, Const(False))), call.node, obj)
    return unknown("finalize_backward()")


@method("reset_iter_state")
def give_up(machine: Machine, obj: Obj, call: Call) -> Value:
    machine.emit(events.StepGivenUp(), call.node, obj)
    return NONE


@method("set_gradient_divide_factor", "set_reduce_scatter_divide_factor")
def divide(machine: Machine, obj: Obj, call: Call) -> Value:
    scatter = call.name == "set_reduce_scatter_divide_factor"
    machine.emit(events.Divided(factor=call.arg(0, "factor"), scatter=scatter), call.node, obj)
    return NONE


def clipped(machine: Machine, call: Call, params: Value) -> None:
    """What one path clips. Without a bound it only computes the norm."""
    bound = call.arg(1, "max_norm")
    if (
        not machine.libraries.any_sharded
        or bound == Const(math.inf)
        or isinstance(bound, Ext)
        and bound.qname in _INFINITE
    ):
        return
    held, _ = optim.holdings(machine, [params])
    if held:
        by = call.name.rsplit(".", 1)[-1]
        machine.emit(events.Clipped(held=held, by=by, bound=bound), call.node, held[0].model)


@external("torch.nn.utils.clip_grad_value_", "torch.nn.utils.clip_grads_with_norm_")
def clip_otherwise(machine: Machine, call: Call) -> Value:
    def clip(params: Value) -> Value:
        clipped(machine, call, params)
        return NONE

    given = call.arg(0, "parameters")
    return machine.over(given, clip) if given is not None else NONE
