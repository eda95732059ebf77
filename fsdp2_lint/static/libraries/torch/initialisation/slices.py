"""Writes that never reach a sharded parameter: through a slice of it, or by exchanging its ``data``."""

from __future__ import annotations

from astroid import nodes

from ....domain import events
from ....domain.values import Obj, ParamV, Value
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import method_observer, observer
from .blank import buffers

_NO_WRITES = ("requires_grad_", "detach_", "retain_grad_", "share_memory_", "rename_")


@method_observer
def method_called(machine: Machine, receiver: Obj | ParamV, name: str, call: Call) -> None:
    """``weight[0].zero_()``: the slice of a DTensor is a tensor of its own."""
    if machine.libraries.any_sharded and name.endswith("_") and not name.endswith("__") and name not in _NO_WRITES:
        func = call.node.func if isinstance(call.node, nodes.Call) else None
        if isinstance(func, nodes.Attribute):
            _rows_written(machine, func.expr, call.node)


@observer
def initialised(machine: Machine, qname: str, call: Call) -> None:
    """``nn.init.zeros_(weight[0])``."""
    if machine.libraries.any_sharded and qname.startswith("torch.nn.init.") and isinstance(call.node, nodes.Call):
        for node in call.node.args[:1]:
            _rows_written(machine, node, call.node)


def augmented(machine: Machine, node: nodes.AugAssign) -> None:
    """``weight[:4] *= 2``."""
    if machine.libraries.any_sharded:
        _rows_written(machine, node.target, node)


def data_set(machine: Machine, owner: Value, name: str, node: nodes.NodeNG) -> None:
    """``parameter.data = tensor``."""
    if machine.libraries.any_sharded and name == "data":
        _lost(machine, owner, node, "data")


def _rows_written(machine: Machine, target: nodes.NodeNG, node: nodes.NodeNG) -> None:
    while isinstance(target, nodes.Attribute) and target.attrname == "data":
        target = target.expr
    if not isinstance(target, nodes.Subscript) or not _takes_rows(target):
        return
    if next(target.value.nodes_of_class(nodes.Call), None) is not None:
        return  # evaluated once more it would happen once more
    # A list or a dict of parameters gives a whole one; only rows of a parameter itself are a copy.
    for _, whole in machine.alternatives(machine.eval(target.value)):
        _lost(machine, whole, node, "slice")


def _takes_rows(node: nodes.Subscript) -> bool:
    """Is it a part along the first dimension, which is the one that is sharded?"""
    index = node.slice.elts[0] if isinstance(node.slice, nodes.Tuple) and node.slice.elts else node.slice
    if isinstance(index, nodes.Slice):
        return any(part is not None for part in (index.lower, index.upper, index.step))
    return not (isinstance(index, nodes.Const) and (index.value is None or index.value is Ellipsis))


def _lost(machine: Machine, written: Value, node: nodes.NodeNG, how: str) -> None:
    """A write that ends in a copy is noted for each sharded model that the parameter is of."""
    if machine.libraries.inside:  # in a forward the parameters are whole
        return
    if isinstance(written, ParamV) and not written.copied:
        owners = machine.objects(written.model)
    elif isinstance(written, Obj):
        at = written
        while at.parent is not None and (at.item == "data" or isinstance(at.item, str) and at.item.startswith("[")):
            at = at.parent
        owners = [at] if _is_parameter(at) else []
    else:
        return
    for owner in owners:
        if machine.libraries.in_sharded(owner):
            machine.emit(events.LostWrite(how=how, tensor=written), node, owner)


def _is_parameter(obj: Obj) -> bool:
    if obj.parent is None:
        return obj.atom.parameter is not None
    return obj.item in ("weight", "bias") and obj.item not in buffers(obj.atom)
