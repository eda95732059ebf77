"""What an expression names in other packages, read off the imports around it: whatever it is called here."""

from __future__ import annotations

import builtins

from astroid import nodes

from .torch_model.names import canonical


def full_name(node: nodes.NodeNG) -> str:
    """The qualified name that a dotted expression stands for; empty for what the program binds in other ways."""
    behind: list[str] = []
    while isinstance(node, nodes.Attribute):
        behind.insert(0, node.attrname)
        node = node.expr
    root = _imported(node) if isinstance(node, nodes.Name) else ""
    return canonical(".".join([root, *behind])) if root else ""


def _imported(name: nodes.Name) -> str:
    found = {_bound_by(statement, name.name) for statement in name.lookup(name.name)[1]}
    if not found and hasattr(builtins, name.name):
        return f"builtins.{name.name}"
    return found.pop() if len(found) == 1 else ""


def _bound_by(statement: nodes.NodeNG, name: str) -> str:
    if isinstance(statement, nodes.ImportFrom) and not statement.level:
        return next((f"{statement.modname}.{own}" for own, alias in statement.names if (alias or own) == name), "")
    if isinstance(statement, nodes.Import):
        for own, alias in statement.names:
            if (alias or own.split(".")[0]) == name:
                return str(own if alias else name)
    if isinstance(statement, (nodes.FunctionDef, nodes.ClassDef)) and statement.root().name == "builtins":
        return f"builtins.{name}"
    return ""
