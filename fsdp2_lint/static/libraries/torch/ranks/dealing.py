"""Samplers and data sets of the project that deal out by rank: their ``__iter__`` gives ``items[rank::world]``."""

from __future__ import annotations

from collections.abc import Iterator

from astroid import nodes

from ....domain.values import Bound, Func, Obj, Rank
from ...interface import Machine

_SAME_ITEMS = frozenset({"iter", "list", "tuple", "sorted", "map"})  # of what they are given, the last argument


def deals_by_rank(machine: Machine, obj: Obj) -> bool:
    """Does each rank surely get other items of it than the others? Every way out of its ``__iter__`` must deal so."""
    found = machine.find_attr(obj, "__iter__") if machine.class_of(obj) is not None else None
    func = found.func if isinstance(found, Bound) else found
    if not isinstance(func, Func) or not isinstance(func.node, nodes.FunctionDef):
        return False
    given = [*_given(func.node)]
    return bool(given) and all(_is_dealt(machine, obj, each) for each in given)


def _given(function: nodes.FunctionDef) -> Iterator[nodes.NodeNG]:
    """What is returned and yielded; what is yielded in a loop stands for what that goes through."""
    for node in function.nodes_of_class((nodes.Return, nodes.Yield, nodes.YieldFrom), skip_klass=nodes.FunctionDef):
        if node.value is None and isinstance(node, nodes.Return):
            continue
        loop = node.parent
        while isinstance(node, nodes.Yield) and loop is not function and not isinstance(loop, nodes.For):
            loop = loop.parent
        yield loop.iter if isinstance(node, nodes.Yield) and isinstance(loop, nodes.For) else node.value or node


def _is_dealt(machine: Machine, obj: Obj, node: nodes.NodeNG) -> bool:
    """``items[rank::world]``, ``range(rank, n, world)`` or ``islice(items, rank, None, world)``."""
    if isinstance(node, nodes.Subscript) and isinstance(node.slice, nodes.Slice):
        return _strides(machine, obj, node.slice.lower, node.slice.step)
    if not isinstance(node, nodes.Call) or node.keywords:
        return False
    name = node.func.as_string().rpartition(".")[2]
    if name == "range" and len(node.args) == 3:
        return _strides(machine, obj, node.args[0], node.args[2])
    if name == "islice" and len(node.args) == 4:
        return _strides(machine, obj, node.args[1], node.args[3])
    return name in _SAME_ITEMS and bool(node.args) and _is_dealt(machine, obj, node.args[-1])


def _strides(machine: Machine, obj: Obj, start: nodes.NodeNG | None, step: nodes.NodeNG | None) -> bool:
    return step is not None and _is_rank(machine, obj, start)


def _is_rank(machine: Machine, obj: Obj, node: nodes.NodeNG | None) -> bool:
    """Is it a field of the object with the number of this rank in the job or in a group?"""
    if not isinstance(node, nodes.Attribute) or not isinstance(node.expr, nodes.Name) or node.expr.name != "self":
        return False
    held = machine.find_attr(obj, node.attrname)
    leaves = [leaf for _, leaf in machine.alternatives(held)] if held is not None else []
    return bool(leaves) and all(isinstance(leaf, Rank) and leaf.kind != "local" for leaf in leaves)
