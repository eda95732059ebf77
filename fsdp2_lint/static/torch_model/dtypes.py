"""Dtypes of parameters, and parameters that are one: what is said of tensors before they are sharded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..values import NONE, Ext, Obj, Value
from .tables import external

if TYPE_CHECKING:
    from astroid import nodes

    from ..interp.call import Call
    from ..interp.interpreter import Interpreter

DEFAULT = "default"  # of torch, unless the program sets another
_FLOATS = ("float32", "float16", "bfloat16", "float64", "half", "float", "double")
_SAME = {"half": "float16", "float": "float32", "double": "float64"}


def named(value: Value | None) -> str | None:
    """A dtype that is written as one; None if it is something else."""
    if value is None:
        return None
    if value == NONE:
        return DEFAULT
    name = value.qname.removeprefix("torch.") if isinstance(value, Ext) and value.qname.startswith("torch.") else ""
    return _SAME.get(name, name) if name in _FLOATS else None


def tied(machine: Interpreter, owner: Obj, value: Value, node: nodes.NodeNG) -> None:
    """``head.weight = embed.weight``: from here on the two are one parameter."""
    for _, leaf in machine.alternatives(value):
        if isinstance(leaf, Obj) and leaf.item == "weight" and leaf.parent is not None and leaf.parent is not owner:
            machine.emit("tied", node, owner, other=leaf.parent)


def cast(machine: Interpreter, obj: Obj, name: str, call: Call) -> None:
    """A module's parameters change their dtype, or a tensor does. ``dtype``: None where it is not known to which."""
    if name in ("half", "float", "double", "bfloat16"):
        dtype: str | None = _SAME.get(name, name)
    elif name in ("to", "type"):
        given = [each for each in call.all if named(each) not in (None, DEFAULT)]
        if not given and "dtype" not in call.kwargs and "dtype" not in call.node.as_string():
            return  # to a device
        dtype = named(given[0]) if given else None
    else:
        return
    if obj.atom.facts.get("module") and not any(isinstance(item, tuple) for item in obj.path):
        machine.emit("cast", call.node, obj, dtype=dtype)
    else:
        machine.cast_tensors.add(obj)


@external("torch.set_default_dtype", "torch.set_default_tensor_type")
def set_default(machine: Interpreter, call: Call) -> Value:
    machine.emit("default_dtype", call.node, None)
    return NONE
