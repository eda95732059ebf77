"""Which fields a piece of code may set, or fill where they hold lists and dicts; the others it reads at most.

Read off its syntax, so it says nothing of code that is called and not seen: a call of a method that is neither found
by name nor a reader of Python's own types may change any field that is mentioned.
"""

from __future__ import annotations

from astroid import nodes
from astroid.const import Context

from .module import Module

_BUILTIN = (dict, list, tuple, set, frozenset, str, bytes, int, float)
_FILLING = frozenset(
    """append extend insert pop popitem remove discard clear sort reverse update setdefault add
    intersection_update difference_update symmetric_difference_update""".split()
)
_READING = frozenset(name for kind in _BUILTIN for name in dir(kind) if not name.startswith("_")) - _FILLING
_ASKING = frozenset({"len", "bool", "str", "repr", "isinstance", "print"})
_ITEMS = frozenset({"get", "values", "items", "copy"})  # what comes out of these may be a list or dict that is changed
_TESTS = (nodes.If, nodes.While, nodes.IfExp, nodes.Assert)
# A call of a method of a tensor or mesh; torch has no field of the caller's in its hands.
_OF_TENSORS = frozenset({"size", "dim", "numel", "item"})


def written_in(module: Module, node: nodes.NodeNG) -> frozenset[str] | None:
    """Names of the fields that this code may set or fill, without what it calls; None if it may be any."""
    kept: frozenset[str] | None | str = getattr(node, "fsdp2_written", "")
    if isinstance(kept, str):
        kept = node.fsdp2_written = _written_in(module, node)
    return kept


def _written_in(module: Module, node: nodes.NodeNG) -> frozenset[str] | None:
    found = {part.attrname for part in node.nodes_of_class((nodes.AssignAttr, nodes.DelAttr))}
    for part in node.nodes_of_class(nodes.Attribute):
        if _is_called(part):
            if not (part.attrname in _READING | _FILLING | _OF_TENSORS or _is_own_method(module, part.attrname)):
                return None
        elif not _only_read(module, part):
            found.add(part.attrname)
    return frozenset(found)


def _is_called(node: nodes.NodeNG) -> bool:
    return isinstance(node.parent, nodes.Call) and node.parent.func is node


def _is_own_method(module: Module, name: str) -> bool:
    """Is it a method of a class of this file, which is a part of what is looked through?"""
    return any(
        isinstance(method, nodes.FunctionDef) and method.name == name
        for cls in module.tree.body
        if isinstance(cls, nodes.ClassDef)
        for method in cls.body
    )


def _only_read(module: Module, node: nodes.NodeNG) -> bool:
    """Is the value of this expression only looked at, and nothing in it handed on?"""
    at = node.parent
    if isinstance(at, (nodes.Compare, nodes.FormattedValue, nodes.BinOp)):
        return True
    if isinstance(at, (nodes.BoolOp, nodes.UnaryOp)):
        return at.op == "not" or _only_read(module, at)
    if isinstance(at, _TESTS) and at.test is node:
        return True
    if isinstance(at, nodes.Subscript) and at.value is node:
        return bool(at.ctx == Context.Load) and _only_read(module, at)
    if isinstance(at, nodes.Attribute):
        if not _is_called(at):
            return _only_read(module, at)
        return at.attrname not in _FILLING and (at.attrname not in _ITEMS or _only_read(module, at.parent))
    asks = isinstance(at, nodes.Call) and isinstance(at.func, nodes.Name) and at.func.name in _ASKING
    return asks and at.func.name not in module.bindings
