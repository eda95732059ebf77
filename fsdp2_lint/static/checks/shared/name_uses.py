"""What code reads and writes by name, in the functions that it comes to as well: too much rather than too little."""

from __future__ import annotations

from collections.abc import Iterable

from astroid import nodes

from .program import Program

Nodes = Iterable[nodes.NodeNG]
_BINDS = (nodes.FunctionDef, nodes.ClassDef)


def names(parts: Nodes) -> set[str]:
    """Variables that are read, set or deleted."""
    return {node.name for part in parts for node in part.nodes_of_class((nodes.Name, nodes.AssignName, nodes.DelName))}


def bound(part: nodes.NodeNG) -> set[str]:
    """Variables that a statement sets for those around it; comprehensions and inner functions have their own."""
    scope = part.parent.scope()
    found = {
        node.name
        for node in part.nodes_of_class((nodes.AssignName, nodes.DelName))
        if node.scope() is scope and not isinstance(node.parent, nodes.Arguments)
    }
    found |= {node.name for node in part.nodes_of_class(_BINDS) if node.parent.scope() is scope}
    for node in part.nodes_of_class((nodes.Import, nodes.ImportFrom)):
        found |= {(alias or name).partition(".")[0] for name, alias in node.names}
    return found


def attributes(parts: Nodes) -> set[str]:
    """Attributes that are read, also by ``getattr``."""
    found: set[str] = set()
    for part in parts:
        found |= {node.attrname for node in part.nodes_of_class(nodes.Attribute)}
        found |= {node.value for node in part.nodes_of_class(nodes.Const) if isinstance(node.value, str)}
    return found


def stored(parts: Nodes) -> set[str]:
    """Attributes that are set or deleted, and those in whose items something is put."""
    found: set[str] = set()
    for part in parts:
        found |= {node.attrname for node in part.nodes_of_class((nodes.AssignAttr, nodes.DelAttr))}
        for assigned in part.nodes_of_class(nodes.Assign):
            for target in assigned.targets:
                if isinstance(target, nodes.Subscript) and isinstance(target.value, nodes.Attribute):
                    found.add(target.value.attrname)
    return found


def shared(parts: Nodes) -> set[str]:
    """Variables of the file that functions set."""
    return {name for part in parts for node in part.nodes_of_class(nodes.Global) for name in node.names}


def with_callees(program: Program, parts: Nodes) -> list[nodes.NodeNG]:
    """The parts, each function of the project that ran and that they mention or whose class they call, and so on."""
    known = callables(program)
    found = list(parts)
    for part in found:  # which grows
        for name in sorted({said(node) for node in part.nodes_of_class((nodes.Name, nodes.Attribute))} & known.keys()):
            found += known.pop(name)
        for name in sorted({f"{said(node.func)}()" for node in part.nodes_of_class(nodes.Call)} & known.keys()):
            found += known.pop(name)
    return found


def callables(program: Program) -> dict[str, list[nodes.FunctionDef]]:
    """The functions that ran, by name; initialisers as ``Class()``, since classes are also named in annotations."""
    found: dict[str, list[nodes.FunctionDef]] = {}
    for node in program.machine.reached:
        if isinstance(node, nodes.FunctionDef):
            initialises = node.name == "__init__" and isinstance(node.parent, nodes.ClassDef)
            found.setdefault(f"{node.parent.name}()" if initialises else str(node.name), []).append(node)
    return found


def said(node: nodes.NodeNG) -> str:
    """The last word of ``x`` and ``a.b.x``; nothing of other expressions."""
    return str(node.name if isinstance(node, (nodes.Name, nodes.AssignName)) else getattr(node, "attrname", ""))
