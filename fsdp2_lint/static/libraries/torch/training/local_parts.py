"""Numbers that each rank makes of its own part of a gradient, and gradients that are scaled with them."""

from __future__ import annotations

from astroid import nodes

from ....domain import events
from ....domain.values import Computed, Obj, ParamV, Value
from ....interpreter.call import Call
from ....interpreter.expressions import own_values, owning
from ....interpreter.expressions.own_values import Own
from ...interface import Machine
from ...tables import external

_SHARDS, _PARTIAL = "", frozenset({"norm", "sum", "mean", "max", "min", "product"})  # in all versions of torch
_SCALES = frozenset({"mul_", "div_", "multiply_", "divide_"})


def taken(machine: Machine, leaf: ParamV | Computed, made: Obj, node: nodes.NodeNG) -> None:
    """``gradient.to_local()``, or of what was computed from one: ``made`` is what this rank has of it."""
    part = leaf if isinstance(leaf, Computed) else Computed(leaf, _SHARDS)
    if not machine.libraries.any_sharded or not part.of.grad or part.how not in {_SHARDS, *_PARTIAL}:
        return
    words = "this rank's part of a gradient"
    owning.began(machine, made.atom, Own(words, when=machine.moment(node), part=part, path=machine.guard))


def scaled(machine: Machine, leaf: ParamV, by: Value, node: nodes.NodeNG) -> None:
    own = own_values.own_of(machine, by) if leaf.grad and not leaf.apart else None
    for model in machine.objects(leaf.model) if own is not None and own.part is not None else ():
        machine.emit(events.GradientScaled(factor=by), node, model)


def method_called(machine: Machine, leaf: ParamV, name: str, call: Call) -> None:
    if name in _SCALES and call.args:
        scaled(machine, leaf, call.args[0], call.node)


@external("torch._foreach_mul_", "torch._foreach_div_")
def each_scaled(machine: Machine, call: Call) -> Value:
    leaves = list(machine.inside(call.args[0])) if len(call.args) > 1 else []
    for leaf in leaves:
        if isinstance(leaf, ParamV):
            scaled(machine, leaf, call.args[1], call.node)
    return machine.libraries.call_other(call.name, call)
