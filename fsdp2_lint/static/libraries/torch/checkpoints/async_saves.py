"""``dcp.async_save``: what becomes of the future that it returns."""

from __future__ import annotations

from collections.abc import Iterator

from astroid import nodes

from ....domain import events
from ....domain.values import NONE, AbstractObject, Value
from ....interpreter.call import Call
from ...interface import Machine

DROPPED, OVERTAKEN, AWAITED, KEPT = "dropped", "overtaken", "awaited", "kept"
SAVING = "dcp.async_save()"  # what the future that it returns is called
WAITS = ("result", "exception", "wait", "upload_completion")


def note_async_save(machine: Machine, call: Call) -> Value:
    future = AbstractObject("external", origin=SAVING, site=machine.site(call.node)).root
    group = call.arg(None, "process_group") or NONE
    machine.emit(events.AsyncSave(future=future, fate=_fate(machine, call.node), group=group), call.node)
    return future


def _fate(machine: Machine, node: nodes.NodeNG) -> str:
    """Followed through the callers that it is returned to, as far as one name or attribute takes it."""
    for at in (node, *(call for _, call in reversed(machine.calls))):
        holder = at.parent
        if isinstance(holder, nodes.Expr):
            return DROPPED
        if isinstance(holder, (nodes.Assign, nodes.AnnAssign)):
            return _bound(machine, holder)
        if isinstance(holder, nodes.Attribute):
            return AWAITED if holder.attrname in WAITS else KEPT
        if not isinstance(holder, nodes.Return):
            return KEPT
    return KEPT


def _bound(machine: Machine, statement: nodes.Assign | nodes.AnnAssign) -> str:
    """What becomes of the future that a statement binds: kept, dropped, or overtaken by the next one."""
    targets = statement.targets if isinstance(statement, nodes.Assign) else [statement.target]
    target = targets[0]
    if len(targets) == 1 and isinstance(target, nodes.AssignAttr):
        return KEPT if _read_somewhere(machine, target.attrname) else DROPPED
    scope = statement.scope()
    if len(targets) > 1 or not isinstance(target, nodes.AssignName):
        return KEPT
    of_script = isinstance(scope, nodes.Module) and machine.runs_as_script(machine.frame.module)
    if not isinstance(scope, nodes.FunctionDef) and not of_script:
        return KEPT
    if any(target.name in each.names for each in scope.nodes_of_class((nodes.Global, nodes.Nonlocal))):
        return KEPT
    reads = [each for each in scope.nodes_of_class(nodes.Name) if each.name == target.name]
    if not reads:
        return DROPPED
    loop = next(_loops(statement), None)
    if loop is not None and not any(loop in _loops(each) for each in reads):
        return OVERTAKEN
    waits = any(isinstance(each.parent, nodes.Attribute) and each.parent.attrname in WAITS for each in reads)
    return AWAITED if waits else KEPT


def _loops(node: nodes.NodeNG) -> Iterator[nodes.NodeNG]:
    at = node.parent
    while at is not None and not isinstance(at, nodes.FunctionDef):
        if isinstance(at, (nodes.For, nodes.While)):
            yield at
        at = at.parent


def _read_somewhere(machine: Machine, name: str) -> bool:
    """Is an attribute of this name read in any file of the project, or asked for by its name?"""
    return machine.project.anywhere(rf"\.{name}\b(?!\s*(?::[^=\n]*)?=[^=])|[\"']{name}[\"']")
