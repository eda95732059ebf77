"""Classes that nobody builds: built from unknown arguments, and their methods called in a canonical order."""

from __future__ import annotations

from collections.abc import Iterable

from astroid import nodes

from .budget import BUDGET
from .interp.interpreter import Interpreter
from .interp.machine import Diverges, OutOfBudget
from .values import ClassV, Func, Obj

# The order in which a framework or a caller drives the methods of a trainer-like class.
_DRIVEN = tuple(
    "setup init configure_model build create prepare load parallelize wrap shard configure_optim"
    " fit train run step eval valid test save export".split()
)


def drive(machine: Interpreter, cls: ClassV) -> list[tuple[Func, str]]:
    """Run a class; which of its methods were cut off, and why.

    Between two methods the order is a guess, so each runs under a guard of its own: no
    finding may rest on it.
    """
    receiver = machine.build(cls)
    if not isinstance(receiver, Obj):
        return []
    start, limit, cut = machine.guard, machine.max_steps, list[tuple[Func, str]]()
    for position, (owner, node) in enumerate(_methods(machine, cls)):
        if node in machine.reached:
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
            if not machine.any_sharded:
                raise
            machine.abandon(mark)
            spent = machine.steps >= machine.max_steps < limit
            why = f"more than {BUDGET.method_steps} steps" if spent else str(error)
            cut.append((method, why))
        machine.guard = start
    machine.max_steps = limit
    return cut


def _methods(machine: Interpreter, cls: ClassV) -> Iterable[tuple[ClassV, nodes.FunctionDef]]:
    found: dict[str, tuple[ClassV, nodes.FunctionDef]] = {}
    for base in machine.mro(cls):
        if isinstance(base, ClassV):
            for node in base.node.body:
                if isinstance(node, nodes.FunctionDef) and not node.name.startswith("__"):
                    found.setdefault(node.name, (base, node))
    return sorted(found.values(), key=lambda each: (_rank(each[1].name), each[1].lineno))


def _rank(name: str) -> int:
    """The place of the first words of a method's name that say when it is called: ``model_setup`` is a setup."""
    words = name.strip("_").split("_")
    for start in range(len(words)):
        rest = "_".join(words[start:])
        for position, prefix in enumerate(_DRIVEN):
            if rest.startswith(prefix):
                return position
    return len(_DRIVEN)
