"""Copies of models: of each parameter, or of the whole module at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...budget import BUDGET
from ...domain import events
from ...domain.store import Entries
from ...domain.values import DictV, ListV, Obj, TupleV, Value, unknown
from ...interpreter.call import Call
from ..interface import Machine
from ..module_copies import copied_module
from ..tables import external
from .records import copied_record, deep_copied_record


@external("copy.deepcopy")
def deep_copy(machine: Machine, call: Call) -> Value:
    def one(leaf: Value, depth: int = 0) -> Value:
        if not isinstance(leaf, Obj) and depth < BUDGET.module_depth:
            return _rebuilt(machine, leaf, lambda part: one(part, depth + 1))
        if isinstance(leaf, Obj) and (record := deep_copied_record(machine, leaf)) is not None:
            return record
        if isinstance(leaf, Obj) and (module := copied_module(machine, leaf, call.node)) is not None:
            return module
        if depth and isinstance(leaf, Obj) and not machine.libraries.could_be_module(leaf):
            return leaf
        return unknown("a copy", machine.site(call.node))

    copied(machine, call, "copy.deepcopy()")
    return machine.over(call.args[0], one) if call.args else unknown("deepcopy()")


@external("copy.copy")
def shallow_copy(machine: Machine, call: Call) -> Value:
    """Another container or record of the same; a copied module has the parameters of the first."""

    def one(leaf: Value) -> Value:
        if isinstance(leaf, Obj):
            return copied_record(machine, leaf) or leaf
        return _rebuilt(machine, leaf, lambda part: part)

    return machine.over(call.args[0], one) if call.args else unknown("copy()")


def _rebuilt(machine: Machine, value: Value, part: Callable[[Value], Value]) -> Value:
    """A new container with what ``part`` makes of each thing in it; what cannot be changed is the same."""

    def each(held: Value) -> Value:
        return machine.over(held, part)

    if isinstance(value, TupleV):
        return TupleV(tuple(map(each, value.items)))
    if isinstance(value, ListV):
        held = machine.items(value)
        return machine.listed(replace(held, items=tuple((path, each(item)) for path, item in held.items)))
    if isinstance(value, DictV):
        copy, filled = machine.new_dict(), machine.entries(value)
        entries = tuple((key, path, each(item)) for key, path, item in filled.entries)
        machine.store.put(copy.id, Entries(entries, filled.open_why), local=True)
        return copy
    return value


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
    for path, leaf in machine.leaves(value):
        if isinstance(leaf, Obj) and machine.find_attr(leaf, "__deepcopy__") is None:
            with machine.on_path(path):
                machine.emit(events.Copied(by=by), call.node, leaf)
