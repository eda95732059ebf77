"""What programs still do to a module as if FSDP1 or DDP wrapped it, or nothing had changed its class."""

from __future__ import annotations

from collections.abc import Sequence

from astroid import nodes

from ....domain import events
from ....domain.values import ClassV, Const, Ext, ListV, Obj, TupleV, Value
from ....interpreter.call import Call
from ...interface import Machine
from ..sharding.sharding import Gathering

FSDP1 = Ext("torch.distributed.fsdp.FullyShardedDataParallel")
_PREFIX = "FSDP"  # fully_shard puts it before the class's name
_SAME, _AMONG = ("is", "is not", "==", "!="), ("in", "not in")
_LITERALS = (nodes.Name, nodes.Attribute, nodes.Const, nodes.Tuple, nodes.List, nodes.Set)


def module_read(machine: Machine, obj: Obj, node: nodes.NodeNG) -> None:
    """``model.module``; not ``getattr(model, "module", model)``, which allows for its absence."""
    if isinstance(node, nodes.Attribute) and not _allows_for_failure(node):
        machine.emit(events.ModuleRead(written=node), node, obj)


def _allows_for_failure(node: nodes.NodeNG) -> bool:
    at = node
    while not isinstance(at.parent, (nodes.FunctionDef, nodes.Lambda, nodes.Module)):
        if isinstance(at.parent, nodes.Try) and at.parent.handlers and at in at.parent.body:
            return True
        at = at.parent
    return False


def class_named(machine: Machine, obj: Obj, node: nodes.NodeNG) -> None:
    """``type(m)`` and ``m.__class__``, where it is compared with classes or their names."""
    if not machine.libraries.any_sharded or not machine.libraries.in_sharded(obj):
        return
    other = _compared_with(node)
    if other is None:
        return
    if names := frozenset(_class_names(machine, machine.eval(other))):
        machine.emit(events.ClassCompared(names=names), node, obj)


def _compared_with(node: nodes.NodeNG) -> nodes.NodeNG | None:
    """The other side of a comparison by identity, equality or membership, if it is written out."""
    at = node
    if isinstance(at.parent, nodes.Attribute) and at.parent.attrname in ("__name__", "__qualname__"):
        at = at.parent
    compare = at.parent
    if not isinstance(compare, nodes.Compare) or len(compare.ops) != 1:
        return None
    ((op, right),) = compare.ops
    other = None
    if compare.left is at and op in (*_SAME, *_AMONG):
        other = right
    elif right is at and op in _SAME:
        other = compare.left
    return other if isinstance(other, _LITERALS) and getattr(other, "attrname", "") != "__class__" else None


def _class_names(machine: Machine, value: Value) -> list[str]:
    found = []
    for leaf in machine.inside(value):
        if isinstance(leaf, ClassV):
            found.append(leaf.name)
        elif isinstance(leaf, Ext):
            found.append(leaf.qname.rsplit(".", 1)[-1])
        elif isinstance(leaf, Const) and isinstance(leaf.value, str) and not leaf.value.startswith(_PREFIX):
            found.append(leaf.value)
        elif not isinstance(leaf, (TupleV, ListV)):
            return []  # whatever it is, it may name the new class
    return found


def fsdp1_asked(machine: Machine, obj: Obj, classes: Sequence[Value], call: Call) -> None:
    """``isinstance(m, FullyShardedDataParallel)``; together with other classes it asks for any wrapper."""
    written = [each for each in getattr(call.node, "args", ()) if not isinstance(each, nodes.Starred)]
    if len(written) != 2:
        return  # ``isinstance(*pair)``: what is asked stands somewhere else
    if list(classes) == [FSDP1] and machine.libraries.any_sharded and machine.libraries.in_sharded(obj):
        machine.emit(
            events.Fsdp1Asked(written=call.node, calls=tuple(node for _, node in machine.calls)), call.node, obj
        )


def entered(machine: Machine, value: Obj, node: nodes.NodeNG) -> None:
    """``with`` on what ``unshard()`` returned: None, or a handle that is no context manager."""
    gathering = value.atom.state(Gathering) if value.parent is None else None
    if gathering is not None:
        machine.emit(events.UnshardEntered(), node, gathering.of)


def dropped(machine: Machine, node: nodes.Expr, value: Value) -> None:
    """A handle that nobody keeps."""
    gathering = value.atom.state(Gathering) if isinstance(value, Obj) and value.parent is None else None
    if gathering is not None and gathering.left_open:
        machine.emit(events.UnshardDropped(), node.value, gathering.of)
