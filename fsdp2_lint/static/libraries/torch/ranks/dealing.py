"""Samplers and data sets of the project that deal out by rank: their ``__iter__`` gives ``items[rank::world]``."""

from __future__ import annotations

from collections.abc import Iterator

from astroid import nodes

from ....domain.values import Bound, Ext, Func, Obj, Rank, Value
from ...interface import Machine

_SAME_ITEMS = frozenset(f"builtins.{name}" for name in ("iter", "list", "tuple", "sorted"))  # of what they are given


def deals_by_rank(machine: Machine, obj: Obj) -> bool:
    """Does each rank surely get other items of it than the others? Every way out of its ``__iter__`` must deal so."""
    found = machine.find_attr(obj, "__iter__") if machine.class_of(obj) is not None else None
    func = found.func if isinstance(found, Bound) else found
    if not isinstance(func, Func) or not isinstance(func.node, nodes.FunctionDef):
        return False
    given, dealing = [*_given(func.node)], _Dealing(machine, obj, func)
    return bool(given) and all(map(dealing.is_dealt, given))


def _given(function: nodes.FunctionDef) -> Iterator[nodes.NodeNG]:
    """What is returned and yielded; what is yielded in a loop stands for what that goes through."""
    for node in function.nodes_of_class((nodes.Return, nodes.Yield, nodes.YieldFrom), skip_klass=nodes.FunctionDef):
        if node.value is None and isinstance(node, nodes.Return):
            continue
        loop = node.parent
        while isinstance(node, nodes.Yield) and loop is not function and not isinstance(loop, nodes.For):
            loop = loop.parent
        yield loop.iter if isinstance(node, nodes.Yield) and isinstance(loop, nodes.For) else node.value or node


class _Dealing:
    """What an expression of one method means; names are what the engine finds behind them."""

    def __init__(self, machine: Machine, obj: Obj, method: Func) -> None:
        self.machine, self.obj, self.method = machine, obj, method

    def is_dealt(self, node: nodes.NodeNG) -> bool:
        """``items[rank::world]``, ``range(rank, n, world)`` or ``islice(items, rank, None, world)``."""
        if isinstance(node, nodes.Subscript) and isinstance(node.slice, nodes.Slice):
            return node.slice.step is not None and self._is_rank(node.slice.lower)
        if not isinstance(node, nodes.Call) or node.keywords:
            return False
        name = self._called(node.func)
        if name == "builtins.range" and len(node.args) == 3:
            return self._is_rank(node.args[0])
        if name == "itertools.islice" and len(node.args) == 4:
            return self._is_rank(node.args[1])
        return name in _SAME_ITEMS and len(node.args) == 1 and self.is_dealt(node.args[0])

    def _called(self, node: nodes.NodeNG) -> str:
        """The full name of a function of another package; empty for what the method or the project makes itself."""
        root = node
        while isinstance(root, nodes.Attribute):
            root = root.expr
        if not isinstance(root, nodes.Name) or root.name in self.method.node.locals:
            return ""
        module, closure = self.method.module, self.method.closure
        found = self.machine.in_module(module, lambda: self.machine.eval(node), closure=closure)
        return found.qname if isinstance(found, Ext) else ""

    def _is_rank(self, node: nodes.NodeNG | None) -> bool:
        """Is it a field of the object with the number of this rank in the job or in a group?"""
        held = field(self.machine, self.obj, self.method.node, node)
        leaves = [leaf for _, leaf in self.machine.alternatives(held)] if held is not None else []
        return bool(leaves) and all(isinstance(leaf, Rank) and leaf.kind != "local" for leaf in leaves)


def field(machine: Machine, obj: Obj, method: nodes.FunctionDef, node: nodes.NodeNG | None) -> Value | None:
    """What ``self.name`` or ``self.world.rank`` in a method of an object holds; None for any other expression."""
    names: list[str] = []
    while isinstance(node, nodes.Attribute):
        names.append(node.attrname)
        node = node.expr
    owner = method.args.args[0].name if method.args.args else ""
    if not names or not isinstance(node, nodes.Name) or node.name != owner:
        return None
    held: Value | None = obj
    while names and isinstance(held, Obj):
        held = machine.find_attr(held, names.pop())
    return held if not names else None
