"""What may change behind a value's back: tables that other code fills, names that functions set, counters."""

from __future__ import annotations

from collections.abc import Iterator

from astroid import nodes
from astroid.const import Context

from ...frontend.module import Module
from ...frontend.names import names_in
from ...frontend.project import Project

_LOOKS = frozenset({"get", "items", "keys", "values", "copy", "index", "count"})
_MEASURES = frozenset(
    {"all", "any", "dict", "enumerate", "frozenset", "iter", "len", "list", "max", "min", "print", "repr", "reversed"}
) | {"set", "sorted", "str", "sum", "tuple", "zip"}


def only_read(project: Project, module: Module, value: nodes.NodeNG, besides: str = "") -> bool:
    """Is what a class body binds to this value only looked at, wherever the project writes its name?

    ``besides``: the name of methods that may do more.
    """
    bound = value.parent
    target = bound.targets[0] if isinstance(bound, nodes.Assign) else getattr(bound, "target", None)
    if not isinstance(target, nodes.AssignName):
        return False
    name, seen = target.name, 0
    for node in module.tree.nodes_of_class((nodes.Attribute, nodes.AssignAttr, nodes.DelAttr)):
        if node.attrname == name:
            if not _is_look(node) and not (besides and node.scope().name == besides):
                return False
            seen += 1
    return project.mentions(name) == seen + 1  # and where it is defined


def _is_look(node: nodes.NodeNG) -> bool:
    around = node.parent
    if isinstance(around, nodes.Subscript):
        return around.value is node and around.ctx is Context.Load
    if isinstance(around, (nodes.For, nodes.Comprehension)):
        return around.iter is node
    if isinstance(around, nodes.Attribute):
        return around.attrname in _LOOKS and isinstance(around.parent, nodes.Call)
    if isinstance(around, nodes.Call):
        return isinstance(around.func, nodes.Name) and around.func.name in _MEASURES
    if isinstance(around, nodes.Dict):  # ``{**TABLE}``
        return any(value is node and isinstance(key, nodes.DictUnpack) for key, value in around.items)
    if isinstance(around, nodes.Keyword):  # ``call(**TABLE)``
        return around.arg is None
    return isinstance(around, (nodes.BinOp, nodes.Compare, nodes.FormattedValue, nodes.Starred))


def _changes(module: Module) -> list[nodes.NodeNG]:
    """The statements of a file that may count something, or declare a name of another scope: it is walked once."""
    found: list[nodes.NodeNG] | None = getattr(module.tree, "fsdp2_changes", None)
    if found is None:
        kinds = (nodes.Global, nodes.Nonlocal, nodes.AugAssign, nodes.Assign)
        found = module.tree.fsdp2_changes = list(module.tree.nodes_of_class(kinds))
    return found


def rewritten(module: Module) -> set[str]:
    """Names that some function of the file declares ``global``, which it does to set them."""
    found: set[str] | None = getattr(module.tree, "fsdp2_rewritten", None)
    if found is None:
        found = {name for node in _changes(module) if isinstance(node, nodes.Global) for name in node.names}
        module.tree.fsdp2_rewritten = found
    return found


def _made_of_themselves(node: nodes.Assign) -> Iterator[str]:
    """Attributes that are set to what their own value goes into."""
    for target in node.targets:
        for part, value in _pairs(target, node.value):
            if isinstance(part, nodes.AssignAttr) and any(
                each.attrname == part.attrname and each.expr.as_string() == part.expr.as_string()
                for each in value.nodes_of_class(nodes.Attribute)
            ):
                yield part.attrname


def _pairs(target: nodes.NodeNG, value: nodes.NodeNG) -> list[tuple[nodes.NodeNG, nodes.NodeNG]]:
    """``a, b = x, y`` sets two; of another value anything may go into each."""
    targets = target.elts if isinstance(target, nodes.Tuple) else [target]
    if len(targets) > 1 and isinstance(value, nodes.Tuple) and len(targets) == len(value.elts):
        return list(zip(targets, value.elts))
    return [(each, value) for each in targets]


def counters(module: Module) -> frozenset[str]:
    """What a file counts up: attributes (``.i``), keys (``[i]``), and names of enclosing functions or its own.

    An attribute that is set to something made of itself, as ``self.x = self.x / 2`` does, is counted, too.
    """
    found: frozenset[str] | None = getattr(module.tree, "fsdp2_counters", None)
    if found is None:
        names = set[str]()
        for node in _changes(module):
            if isinstance(node, (nodes.Global, nodes.Nonlocal)):
                names.update(node.names)
            elif isinstance(node, nodes.Assign):
                names.update(f".{name}" for name in _made_of_themselves(node))
            elif isinstance(node.target, nodes.AssignAttr):
                names.add(f".{node.target.attrname}")
            elif isinstance(node.target, nodes.Subscript) and isinstance(node.target.slice, nodes.Const):
                names.add(f"[{node.target.slice.value}]")
        found = module.tree.fsdp2_counters = frozenset(names)
    return found


def counted_by_constants(module: Module) -> frozenset[str]:
    """Of the attributes that a file counts up those to which nothing but constants is added."""
    found: frozenset[str] | None = getattr(module.tree, "fsdp2_counted", None)
    if found is None:
        changes = _changes(module)
        counted = (node for node in changes if isinstance(node, nodes.AugAssign))
        added = [node for node in counted if isinstance(node.target, nodes.AssignAttr)]
        other = {node.target.attrname for node in added if node.op != "+=" or not isinstance(node.value, nodes.Const)}
        other |= {name for node in changes if isinstance(node, nodes.Assign) for name in _made_of_themselves(node)}
        names = {node.target.attrname for node in added} - other
        found = module.tree.fsdp2_counted = frozenset(f".{name}" for name in names)
    return found


def writes_globals(module: Module) -> bool:
    """Does the file use what ``globals()`` returns for more than to look at it?"""
    found: bool | None = getattr(module.tree, "fsdp2_writes_globals", None)
    if found is None:
        calls = (node for node in module.tree.nodes_of_class(nodes.Call) if getattr(node.func, "name", "") == "globals")
        found = module.tree.fsdp2_writes_globals = not all(map(_is_look, calls))
    return found


def mentions(tree: nodes.NodeNG, names: set[str]) -> bool:
    return bool(names_in(tree) & names)


def registrations(body: list[nodes.NodeNG], writers: set[str]) -> list[nodes.NodeNG]:
    """Top-level statements that, when a file is imported, call or write one of ``writers``."""
    found = []
    for node in body:
        if isinstance(node, (nodes.FunctionDef, nodes.ClassDef)):
            if node.decorators is not None and mentions(node.decorators, writers):
                found.append(node)
        elif isinstance(node, nodes.Expr) and isinstance(node.value, nodes.Call):
            if mentions(node, writers):
                found.append(node)
        elif isinstance(node, nodes.Assign) and isinstance(node.targets[0], nodes.Subscript):
            if mentions(node.targets[0], writers):
                found.append(node)
        elif isinstance(node, (nodes.If, nodes.Try, nodes.For)):
            if mentions(node, writers) and not any(
                isinstance(name, nodes.Name) and name.name == "__name__" for name in node.nodes_of_class(nodes.Name)
            ):
                found += (
                    registrations([*node.body, *node.orelse], writers) if not isinstance(node, nodes.For) else [node]
                )
    return found
