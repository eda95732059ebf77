"""``functools.singledispatch``: which function runs is told by the class of the first argument."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from astroid import nodes

from ...domain.formulas import Formula
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.values import NONE, Bound, ClassV, Ext, Func, Value
from ...frontend.module import Module
from ...frontend.origins import full_name
from ..call import Call
from ..machine import AnyMachine

CHOOSES = frozenset({"functools.singledispatch", "functools.singledispatchmethod"})
Choices = list[tuple[Value, Func]]


def run(machine: AnyMachine, func: Func, call: Call, receiver: Value | None) -> Value | None:
    """What the implementation for the first argument's class returns; None where not all of these are known."""
    known = _implementations(machine, func) if _alone(func) and call.args and not call.open_why else None
    if known is None:
        return None
    asked = [(machine.libraries.of_classes(call.args[0], [cls]), cls, each) for cls, each in known]
    arms: list[tuple[PathCondition, Callable[[], Value]]] = []
    rest = TRUE
    for formula, _, each in [*sorted(asked, key=lambda one: _order(machine, *one[:2])), (True, NONE, func)]:
        taken, rest = rest.add(formula), rest.add(formula, False) or rest
        if taken is not None:
            chosen = Bound(receiver, each) if receiver is not None else each
            arms.append((taken, partial(machine.call, chosen, call)))
        if formula is True:
            break
    return arms[0][1]() if len(arms) == 1 else machine.branch(arms)


def _alone(func: Func) -> bool:
    """Is nothing else around it?"""
    decorators = func.node.decorators.nodes if func.node.decorators is not None else []
    return len(decorators) == 1 and full_name(decorators[0]) in CHOOSES


def _implementations(machine: AnyMachine, func: Func) -> Choices | None:
    """The functions that were registered, and the class of each; None where a class or a registration is not known."""
    found: Choices = []
    for module, body in _bodies(machine, func):
        for node in body:
            for classes in _registered(func.name, node):
                made = [machine.in_module(module, partial(machine.eval, each)) for each in classes]
                if not made or not all(isinstance(cls, (ClassV, Ext)) for cls in made):
                    return None
                found += [(cls, Func(module, node, func.closure, func.owner)) for cls in made if cls is not None]
    return found or None  # who writes it has others in mind, in files that are not seen


def _bodies(machine: AnyMachine, func: Func) -> Iterator[tuple[Module, list[nodes.NodeNG]]]:
    """Where implementations may stand: in the class of a method, in the files that know a function."""
    if func.owner is not None:
        yield func.owner.module, func.owner.node.body
    else:
        yield from ((module, module.tree.body) for module in machine.importing(func.module, [func.name]))


def _registered(name: str, node: nodes.NodeNG) -> Iterator[list[nodes.NodeNG]]:
    """For each ``@name.register`` of a function the classes that it is for; none in a call that is not a decorator."""
    if isinstance(node, nodes.FunctionDef):
        for decorator in node.decorators.nodes if node.decorators is not None else ():
            called = isinstance(decorator, nodes.Call)
            if _registers(name, decorator.func if called else decorator):
                yield decorator.args if called and decorator.args else _annotated(node)
    elif isinstance(node, nodes.Expr) and isinstance(node.value, nodes.Call) and _registers(name, node.value.func):
        yield []


def _registers(name: str, node: nodes.NodeNG) -> bool:
    asked = isinstance(node, nodes.Attribute) and node.attrname == "register" and isinstance(node.expr, nodes.Name)
    return bool(asked and node.expr.name == name)


def _annotated(node: nodes.FunctionDef) -> list[nodes.NodeNG]:
    """The classes that the first annotation names."""
    parts = [each for each in node.args.annotations if each is not None][:1]
    while any(isinstance(part, nodes.BinOp) for part in parts):
        parts = [side for part in parts for side in ((part.left, part.right) if hasattr(part, "right") else (part,))]
    return parts


def _order(machine: AnyMachine, asked: Formula, cls: Value) -> tuple[bool, int]:
    """What is derived from others comes before these: among those of other packages what not all such values are."""
    return (False, -len(machine.mro(cls))) if isinstance(cls, ClassV) else (asked is True, 0)
