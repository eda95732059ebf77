"""What is attached to single parameters: hooks and attributes."""

from __future__ import annotations

from astroid import nodes

from ....domain import events
from ....domain.values import NONE, Const, Obj, ParamV, Value, unknown
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import IN_PLACE, method, method_observer

HOOKS = ("register_hook", "register_post_accumulate_grad_hook")
_QUANTIZED = ("quantization_config", "load_in_4bit", "load_in_8bit")
_OF_TENSORS = frozenset("requires_grad grad data shape dtype device ndim is_leaf grad_fn T layout names".split())


def owners(machine: Machine, value: Value) -> list[tuple[Obj, int]]:
    """Whose parameters a value is, and when they were read."""
    if isinstance(value, ParamV):
        return [(leaf, value.read) for _, leaf in machine.alternatives(value.model) if isinstance(leaf, Obj)]
    if isinstance(value, Obj) and value.item in ("weight", "bias") and value.parent is not None:
        return [(value.parent, machine.now)]
    return []


def hooked(machine: Machine, value: Value, call: Call, name: str) -> None:
    for owner, read in owners(machine, value):
        machine.emit(events.ParamHook(name=name, read=read), call.node, owner)


@method(*HOOKS)
def register_hook(machine: Machine, obj: Obj, call: Call) -> Value:
    name = call.name
    hooked(machine, obj, call, name)
    machine.libraries.callbacks(call)
    return unknown(f"{name}()")


@method_observer
def changed(machine: Machine, obj: Obj | ParamV, name: str, call: Call) -> None:
    """``parameter.mul_(0.5)``, also of its ``data``, once anything is sharded. No gradient depends on a bias."""
    if not machine.libraries.any_sharded or name not in IN_PLACE or isinstance(obj, ParamV) and obj.copied:
        return
    value = obj.parent if isinstance(obj, Obj) and obj.item == "data" and obj.parent is not None else obj
    for owner, _ in owners(machine, value) if not isinstance(value, Obj) or value.item != "bias" else ():
        machine.emit(events.Changed(), call.node, owner)


def attribute_set(machine: Machine, value: Value, name: str, node: nodes.NodeNG) -> None:
    if name not in _OF_TENSORS:
        for owner, read in owners(machine, value):
            machine.libraries.marked.add(name)
            machine.emit(events.ParamMarked(name=name, read=read), node, owner)


def attribute_read(machine: Machine, value: Value, name: object, node: nodes.NodeNG) -> None:
    if machine.libraries.any_sharded and name in machine.libraries.marked:
        for owner, read in owners(machine, value):
            machine.emit(events.ParamAsked(name=name, read=read), node, owner)


def quantized(machine: Machine, call: Call) -> None:
    """A library loads weights as a setting says: quantized ones carry what is needed to read them."""
    given = [call.kwargs[name] for name in _QUANTIZED if name in call.kwargs]
    if any(leaf not in (NONE, Const(False)) for value in given for _, leaf in machine.alternatives(value)):
        machine.emit(events.Quantized(), call.node)
