"""Do the ranks add up what each of them has read? Then that each reads another number is meant."""

from __future__ import annotations

from collections.abc import Iterator

from astroid import nodes

from ...vocab.finding import Site
from ..project import Module
from ..relevance import names_in
from ..trace import Step
from .program import Program

_BIND = (nodes.Assign, nodes.AnnAssign, nodes.AugAssign)


def agreed_later(program: Program, reading: Step) -> str:
    """Which collective is given what was made of a value that ``reading`` read, by the names that carry it."""
    given = {step.when.at: step for step in program.trace.of("collective") if step.index > reading.index}
    for site in reversed(reading.when.chain):
        module = program.machine.project.module(site.path)
        statement = _statement(module, site) if module is not None else None
        if statement is None:
            return ""
        carried = _bound(statement)
        for node in _behind(statement):
            if isinstance(node, nodes.Call):
                at = Site(site.path, node.lineno, node.col_offset + 1, node.end_lineno, (node.end_col_offset or 0) + 1)
                if at in given and any(carried & names_in(each) for each in node.args):
                    return f"{given[at]['name']} ({at}) may bring together what the ranks have read"
            elif isinstance(node, _BIND) and node.value is not None and carried & names_in(node.value):
                carried |= _bound(node)
        if not isinstance(statement, nodes.Return) and not any(
            isinstance(node, nodes.Return) and node.value is not None and carried & names_in(node.value)
            for node in _behind(statement)
        ):
            return ""
    return ""


def _statement(module: Module, site: Site) -> nodes.NodeNG | None:
    """The innermost statement around a place; a condition carries nothing on, so there is none."""
    found = [
        node
        for node in module.tree.nodes_of_class((*_BIND, nodes.Return, nodes.Expr))
        if node.lineno <= site.row <= (node.end_lineno or node.lineno)
    ]
    return max(found, key=lambda node: (node.lineno, -(node.end_lineno or 0)), default=None)


def _bound(statement: nodes.NodeNG) -> frozenset[str]:
    """The names that a statement gives a value, or puts it into."""
    targets = statement.targets if isinstance(statement, nodes.Assign) else [getattr(statement, "target", None)]
    return frozenset().union(*(_name(target) for target in targets if target is not None))


def _name(target: nodes.NodeNG) -> frozenset[str]:
    if isinstance(target, nodes.AssignAttr):
        return frozenset({target.attrname})
    return names_in(target.value if isinstance(target, nodes.Subscript) else target)


def _behind(statement: nodes.NodeNG) -> Iterator[nodes.NodeNG]:
    """What its function does from there on, line by line."""
    scope = statement.scope()
    parts = (node for node in scope.nodes_of_class((*_BIND, nodes.Call, nodes.Return)) if node is not statement)
    yield from sorted((node for node in parts if node.lineno >= statement.lineno), key=lambda node: int(node.lineno))
