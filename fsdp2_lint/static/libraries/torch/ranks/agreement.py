"""Tensors that a collective of the whole job has filled: all ranks have the same in them, until they are written."""

from __future__ import annotations

from astroid import nodes

from ....domain.values import AbstractObject, Obj, Value
from ....interpreter.call import Call
from ....interpreter.expressions.own_values import Own
from ....interpreter.expressions.owning import began
from ...interface import Machine

AGREEING = frozenset({"all_reduce", "broadcast"})


def agree(machine: Machine, call: Call, name: str) -> Value | None:
    """The tensor that a collective fills holds something else from here on: what it leaves in it, or None if that
    is not known.

    A result of a calculation is exchanged under each of its names. What a method returns is a tensor of its own at
    each call, though it looks the same: then it is the name that it is given by.
    """
    tensor = call.arg(0, "tensor")
    leaves = [leaf for _, leaf in machine.alternatives(tensor)] if tensor is not None else []
    given = [leaf for leaf in leaves if isinstance(leaf, Obj) and _is_result(machine, leaf)]
    if not given or len(given) < len(leaves):
        return None
    made = AbstractObject("unknown", origin=f"{name}()", site=machine.site(call.node))
    made.operands, made.left_of, made.agreed = tuple(given), (name, given[0]), True
    for leaf in given:
        if leaf.parent is None:
            machine.store.exchange(leaf, made.root)
    argument = call.node.args[0] if isinstance(call.node, nodes.Call) and call.node.args else None
    if isinstance(argument, nodes.Name):
        scope = machine.scope_of(argument.name)
        if machine.store.get((scope, argument.name)) is tensor:
            machine.store.put((scope, argument.name), made.root, local=isinstance(scope, int))
    return made.root


def filled(machine: Machine, call: Call, by: str) -> None:
    """Something else than a collective that makes the ranks agree may have written what it was given."""
    for value in call.all:
        for _, leaf in machine.alternatives(value):
            if isinstance(leaf, Obj) and leaf.parent is None and leaf.atom.agreed:
                doubt = f"whether all ranks have the same after {by} ({machine.moment(call.node).at}) is not known"
                began(machine, written(machine, leaf, []).atom, Own(f"what {by} left in a tensor", doubt=doubt))


def written(machine: Machine, tensor: Obj, parts: list[Value]) -> Obj:
    """What such a tensor is from here on: something was written into it, by each rank for itself as far as is known."""
    made = AbstractObject("unknown", origin=tensor.atom.origin, site=tensor.atom.site)
    made.operands = (*tensor.atom.operands, *parts)
    machine.store.exchange(tensor, made.root)
    return made.root


def _is_result(machine: Machine, leaf: Obj) -> bool:
    """Is it something computed, and no model, parameter or optimizer?"""
    libraries = machine.libraries
    if leaf in libraries.optimizers or leaf.parent is None and (leaf.atom.module or leaf.atom.parameter is not None):
        return False
    return leaf.atom.kind == "unknown" or any(isinstance(item, tuple) for item in leaf.path)
