"""Wrappers whose name comes into the keys of a state dict, and the state dicts that have it in their keys.

``torch.compile(model)`` stands for the model itself everywhere else, so what counts is under which name its result is
kept: ``compiled.state_dict()`` has the prefix, ``model.state_dict()`` of the same model has not.
"""

from __future__ import annotations

from astroid import nodes

from .....vocab.finding import Moment
from ....domain import events
from ....domain.path_conditions import TRUE
from ....domain.relations import Relation, relation
from ....domain.values import DictV, Obj, StateDict, Value
from ....frontend.module import Module
from ....interpreter.call import Call
from ....interpreter.syntax import by_position, is_method
from ...interface import Machine
from .gathering import EachKey

PREFIX = "_orig_mod."
Key = tuple[object, ...]
_REGISTERS = ("register_module", "add_module", "setattr")


def note_compiled(machine: Machine, call: Call, value: Value) -> None:
    """The result of ``torch.compile``: kept under a name of its own, or put in the place of a part of a module."""
    child = _becomes_a_part(machine, call.node)
    key = None if child else _kept_as(machine, call.node)
    if child or key is not None:
        for guard, leaf in machine.alternatives(value):
            if isinstance(leaf, Obj) and (guard is TRUE or machine.guard.compatible(guard)):
                machine.emit(events.Prefixed(key=key), call.node, leaf)


def _becomes_a_part(machine: Machine, node: nodes.NodeNG) -> bool:
    """Does the statement put the wrapper in the place of a part of a model?"""
    holder, scope = node.parent, node.scope()
    if isinstance(holder, nodes.Call):
        return _registers(holder)
    if not isinstance(holder, nodes.Assign) or len(holder.targets) != 1:
        return False
    target = holder.targets[0]
    if isinstance(target, nodes.Subscript):
        return True
    if isinstance(target, nodes.AssignAttr):
        owners = machine.objects(machine.eval(target.expr))
        return bool(owners) and all(owner.atom.module for owner in owners)
    if not isinstance(target, nodes.AssignName):
        return False
    return any(
        isinstance(each.parent, nodes.Call)
        and _registers(each.parent)
        or isinstance(each.parent, nodes.Assign)
        and each.parent.value is each
        and isinstance(each.parent.targets[0], nodes.Subscript)
        for each in scope.nodes_of_class(nodes.Name)
        if each.name == target.name and each.lineno > node.lineno
    )


def _registers(call: nodes.Call) -> bool:
    name = call.func.attrname if isinstance(call.func, nodes.Attribute) else getattr(call.func, "name", "")
    return name in _REGISTERS


def _kept_as(machine: Machine, node: nodes.NodeNG) -> Key | None:
    """The variable that the value is bound to, here or by the callers that it is returned to."""
    for at in (node, *(call for _, call in reversed(machine.calls))):
        holder = at.parent
        while isinstance(holder, nodes.IfExp):
            holder = holder.parent
        if isinstance(holder, nodes.Assign) and len(holder.targets) == 1:
            target = holder.targets[0]
            if isinstance(target, nodes.AssignAttr):
                return ("attribute", target.attrname)
            if isinstance(target, nodes.AssignName) and not _bound_again(holder, target.name):
                return ("name", target.scope(), target.name)
            return None
        if not isinstance(holder, nodes.Return):
            return None
    return None


def _bound_again(statement: nodes.Assign, name: str) -> bool:
    bound = statement.scope().nodes_of_class(nodes.AssignName)
    return any(each.name == name and each.lineno > statement.lineno for each in bound)


def prefixed(machine: Machine, obj: Obj, call: Call) -> Moment | None:
    """Where the wrapper is put on whose name is in the keys of this ``state_dict()``."""
    asked = None
    for step in machine.trace.of(events.Prefixed):
        if step.subject is None or not machine.guard.compatible(step.guard):
            continue
        if step.what.key is None:
            if relation(machine.libraries.address(obj), machine.libraries.address(step.subject)) is Relation.CONTAINS:
                return step.when
        elif step.subject is obj:
            asked = asked or _asked_of(machine, call.node)
            if asked == step.what.key:
                return step.when
    return None


def _asked_of(machine: Machine, node: nodes.NodeNG) -> Key:
    """The variable whose ``state_dict()`` is called, followed to the caller that passed it."""
    expression = node.func.expr if isinstance(node, nodes.Call) and isinstance(node.func, nodes.Attribute) else None
    calls: list[tuple[Module, nodes.NodeNG]] = list(machine.calls)
    while isinstance(expression, nodes.Name):
        scope = expression.scope()
        passed = _argument(scope, expression.name, calls[-1][1]) if calls else None
        if passed is None:
            return ("name", scope, expression.name)
        expression = passed
        calls.pop()
    return ("attribute", expression.attrname) if isinstance(expression, nodes.Attribute) else ()


def _argument(scope: nodes.NodeNG, name: str, call: nodes.NodeNG) -> nodes.NodeNG | None:
    """What a call passes for a parameter that the function never binds again."""
    if not isinstance(scope, nodes.FunctionDef) or not isinstance(call, nodes.Call):
        return None
    names = [each.name for each in by_position(scope.args)]
    if name not in names or any(
        each.name == name for each in scope.nodes_of_class(nodes.AssignName) if each.statement() is not scope
    ):
        return None
    given = next((each.value for each in call.keywords if each.arg == name), None)
    position = names.index(name) - (1 if is_method(scope) and isinstance(call.func, nodes.Attribute) else 0)
    return given if given is not None else call.args[position] if 0 <= position < len(call.args) else None


def note_keys(machine: Machine, call: Call, payload: Value, by: str) -> None:
    """What is written: state dicts as they are, and dicts that were filled under the keys of one."""
    if next(machine.trace.of(events.Prefixed), None) is None:
        return
    found: list[Moment] = []
    for leaf in machine.inside(payload):
        if isinstance(leaf, StateDict) and leaf.prefixed is not None:
            found.append(leaf.prefixed)
        elif isinstance(leaf, DictV):
            for key, _, _ in machine.entries(leaf).entries:
                each = key.atom.state(EachKey) if isinstance(key, Obj) and key.parent is None else None
                if each is not None and each.of.prefixed is not None:
                    found.append(each.of.prefixed)
    machine.emit(events.KeysWritten(wrapped=tuple(found), by=by), call.node)
