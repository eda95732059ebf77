"""Classes that nobody builds: built from unknown arguments, and their methods called in a canonical order."""

from __future__ import annotations

from astroid import nodes

from .budget import BUDGET
from .domain.values import ClassV, Func, Obj
from .interpreter.frames import Diverges, OutOfBudget
from .interpreter.interpreter import Interpreter
from .interpreter.libraries import Libraries

Method = tuple[ClassV, nodes.FunctionDef]
Fields = dict[nodes.FunctionDef, tuple[set[str], set[str]]]


def drive(machine: Interpreter[Libraries], cls: ClassV) -> list[tuple[Func, str]]:
    """Run a class; which of its methods were cut off, and why.

    Between two methods the order is a guess, so each runs under a guard of its own: no
    finding may rest on it.
    """
    receiver = machine.build(cls)
    if not isinstance(receiver, Obj):
        return []
    start, limit, cut = machine.guard, machine.max_steps, list[tuple[Func, str]]()
    methods = _methods(machine, cls)
    calls = {node: _calls(node) for _, node in methods}
    for position, (owner, node) in enumerate(_outer_first(methods, calls)):
        # what a method that ran to its end does not come to is not called
        if node in machine.reached or any(node.name in calls[other] for other in calls if other in machine.finished):
            continue
        machine.guard = start.add(("is", ("drive", receiver), position)) or start
        machine.max_steps = min(limit, machine.steps + BUDGET.method_steps)
        mark = machine.store.mark()
        method = Func(owner.module, node, owner.closure, owner)
        try:
            machine.run_function(method, receiver)
        except Diverges:
            pass
        except (OutOfBudget, RecursionError) as error:
            if not machine.libraries.any_sharded:
                raise
            machine.abandon(mark)
            spent = machine.steps >= machine.max_steps < limit
            why = f"more than {BUDGET.method_steps} steps" if spent else str(error)
            cut.append((method, why))
        machine.guard = start
    machine.max_steps = limit
    return cut


def _outer_first(methods: list[Method], calls: dict[nodes.FunctionDef, set[str]]) -> list[Method]:
    """What no other method of the class calls comes first: the rest is called by it, or not at all."""
    called = {name for node, names in calls.items() for name in names - {node.name}}
    return sorted(methods, key=lambda method: method[1].name in called)


def _calls(node: nodes.FunctionDef) -> set[str]:
    """The methods that it calls on its own object."""
    receiver = node.args.args[0].name if node.args.args else ""
    asked = (call.func for call in node.nodes_of_class(nodes.Call) if isinstance(call.func, nodes.Attribute))
    return {part.attrname for part in asked if isinstance(part.expr, nodes.Name) and part.expr.name == receiver}


def _methods(machine: Interpreter[Libraries], cls: ClassV) -> list[Method]:
    found: dict[str, tuple[ClassV, nodes.FunctionDef]] = {}
    for base in machine.mro(cls):
        if isinstance(base, ClassV):
            for node in base.node.body:
                if isinstance(node, nodes.FunctionDef) and not node.name.startswith("__"):
                    found.setdefault(node.name, (base, node))
    return _set_before_read(list(found.values()))


def _set_before_read(methods: list[Method]) -> list[Method]:
    """What sets a field comes before what reads it, and else as it is written."""
    rest = sorted(methods, key=lambda each: int(each[1].lineno))
    fields = {node: (_fields(node, nodes.AssignAttr), _fields(node, nodes.Attribute)) for _, node in rest}
    order: list[Method] = []
    done: set[str] = set()
    while rest:
        free = (each for each in rest if not _waits(each[1], [other[1] for other in rest], fields, done))
        chosen = next(free, rest[0])
        rest.remove(chosen)
        order.append(chosen)
        done |= fields[chosen[1]][0]
    return order


def _waits(node: nodes.FunctionDef, others: list[nodes.FunctionDef], fields: Fields, done: set[str]) -> bool:
    """Does it read a field that one of the others still has to set?"""
    wanted = fields[node][1] - fields[node][0] - done
    return any(wanted & fields[other][0] for other in others if other is not node)


def _fields(node: nodes.FunctionDef, kind: type[nodes.NodeNG]) -> set[str]:
    receiver = node.args.args[0].name if node.args.args else ""
    found = node.nodes_of_class(kind)
    return {part.attrname for part in found if isinstance(part.expr, nodes.Name) and part.expr.name == receiver}
