"""Copies of models: of each parameter, or of the whole module at once."""

from __future__ import annotations

from ...domain import events
from ...domain.values import Obj, Value, unknown
from ...interpreter.call import Call
from ..interface import Machine
from ..tables import external
from .records import deep_copied_record


@external("copy.deepcopy")
def deep_copy(machine: Machine, call: Call) -> Value:
    def one(leaf: Value) -> Value:
        if not isinstance(leaf, Obj):
            return leaf
        if (record := deep_copied_record(machine, leaf)) is not None:
            return record
        return unknown("a copy", machine.site(call.node))

    copied(machine, call, "copy.deepcopy()")
    return machine.over(call.args[0], one) if call.args else unknown("deepcopy()")


@external(
    "torch.optim.swa_utils.AveragedModel",
    "timm.utils.ModelEma",
    "timm.utils.ModelEmaV2",
    "timm.utils.ModelEmaV3",
    "timm.utils.model_ema.ModelEma",
    "timm.utils.model_ema.ModelEmaV2",
    "timm.utils.model_ema.ModelEmaV3",
)
def averaged(machine: Machine, call: Call) -> Value:
    """Weights averaged over the steps, in a module that begins as a deep copy."""
    name = call.name
    copied(machine, call, f"{name.rsplit('.', 1)[-1]}()")
    return machine.libraries.call_other(name, call)


def copied(machine: Machine, call: Call, by: str) -> None:
    """A deep copy of a container is one of all that is in it."""
    value = call.arg(0, "model") or call.arg(None, "x")
    if not machine.libraries.any_sharded or value is None:
        return
    start = machine.guard
    for path, leaf in machine.leaves(value):
        if isinstance(leaf, Obj) and machine.find_attr(leaf, "__deepcopy__") is None:
            machine.guard = path
            machine.emit(events.Copied(by=by), call.node, leaf)
    machine.guard = start
