"""What an expression names in other packages, read off the imports of its file: whatever it is called there."""

from __future__ import annotations

import builtins

from astroid import nodes

from .torch_api import canonical

_IMPORTS = (nodes.Import, nodes.ImportFrom)
_DEFINITIONS = (nodes.FunctionDef, nodes.ClassDef)


def full_name(node: nodes.NodeNG) -> str:
    """The qualified name that a dotted expression stands for; empty for what the program binds in other ways."""
    behind: list[str] = []
    while isinstance(node, nodes.Attribute):
        behind.insert(0, node.attrname)
        node = node.expr
    if not isinstance(node, nodes.Name):
        return ""
    bound = _bound(node.root()).get(node.name)
    if bound is None and hasattr(builtins, node.name):
        return f"builtins.{node.name}"
    (root,) = bound if bound and len(bound) == 1 else ("",)
    return canonical(".".join([root, *behind])) if root else ""


def _bound(tree: nodes.Module) -> dict[str, set[str]]:
    """For each name that a file imports or defines anywhere, what it stands for; empty for its own definitions."""
    found: dict[str, set[str]] | None = getattr(tree, "fsdp2_imported", None)
    if found is None:
        found = tree.fsdp2_imported = {}
        for node in tree.nodes_of_class((*_IMPORTS, *_DEFINITIONS)):
            for name, full in _named(node):
                found.setdefault(name, set()).add(full)
    return found


def _named(node: nodes.NodeNG) -> list[tuple[str, str]]:
    if isinstance(node, _DEFINITIONS):
        return [(node.name, "")] if isinstance(node.parent, nodes.Module) else []
    if isinstance(node, nodes.Import):
        return [(alias or own.split(".")[0], own if alias else own.split(".")[0]) for own, alias in node.names]
    base = "" if node.level else f"{node.modname}."
    return [(alias or own, f"{base}{own}" if base else "") for own, alias in node.names]
