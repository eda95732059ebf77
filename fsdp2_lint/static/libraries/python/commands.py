"""Functions as commands: click, typer, fire and their like call them with what the command line says.

A default in the signature is what an option is *unless* the command line says otherwise, so it is no constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from astroid import nodes

from ....vocab.declared import record
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.values import NONE, AbstractObject, Bound, DictV, Ext, Func, ListV, Obj, TupleV, Value
from ...frontend.module import Module
from ...interpreter.call import Call
from ...interpreter.syntax import by_position, defaults_of
from ..interface import Machine
from ..tables import external
from .arguments import PARSER, Defaults

_CLICK = frozenset({"click", "rich_click", "cloup", "asyncclick"})
_APPS = ("typer.Typer", "cyclopts.App", "click.Group", "cleo.application.Application")
_RUN = ("fire.Fire", "typer.run", "jsonargparse.CLI", "jsonargparse.auto_cli", "defopt.run", "plac.call", "clize.run")


@record
class Group:
    """Commands that are registered under this name of a file. ``own``: what runs before any of them, or None."""

    module: Module
    name: str
    own: Func | None = None


@external(*_RUN)
def run(machine: Machine, call: Call) -> Value:
    """Runs one of the functions that it is given; what it makes of anything else is not known."""
    found = list(_functions(machine, call.arg(0, "component") or call.arg(None, "f") or NONE))
    return one_of(machine, found, call) if found else machine.libraries.call_other(call.name, call)


def _functions(machine: Machine, given: Value) -> Iterator[Value]:
    """Functions, alone or in a table of commands."""
    for _, leaf in machine.alternatives(given):
        if isinstance(leaf, (Func, Bound)):
            yield leaf
        elif isinstance(leaf, DictV):
            yield from (value for _, _, value in machine.entries(leaf).entries if isinstance(value, (Func, Bound)))
        elif isinstance(leaf, (ListV, TupleV)):
            yield from (value for _, value in machine.listing(leaf).items if isinstance(value, (Func, Bound)))


def one_of(machine: Machine, commands: list[Value], call: Call) -> Value:
    """Which of several commands runs is the user's choice."""
    if len(commands) == 1:
        return _run(machine, commands[0], call)
    _, arm_of = machine.fork()
    arms: list[tuple[PathCondition, Callable[[], Value]]] = [
        (TRUE.add(arm_of(arm)) or TRUE, partial(_run, machine, command, call)) for arm, command in enumerate(commands)
    ]
    return machine.branch(arms)


def _run(machine: Machine, command: Value, call: Call) -> Value:
    """Call a function with an option of the command line for each of its parameters."""
    func = command.func if isinstance(command, Bound) else command
    assert isinstance(func, Func)
    options = AbstractObject("configuration", origin=PARSER, site=machine.site(call.node))
    options.shared = True
    spec = func.node.args
    taken = [*by_position(spec)[isinstance(command, Bound) :], *(spec.kwonlyargs or [])]
    names = [each.name for each in taken]
    # ``typer.Option(3)`` is a default that was not looked into.
    written = {name: node for name, node in defaults_of(spec).items() if name in names}
    values = {name: machine.in_module(func.module, partial(machine.eval, node)) for name, node in written.items()}
    options.know(Defaults({name: value for name, value in values.items() if value is not None}))
    given: dict[str, Value] = {name: options.root.child(name) for name in names}
    more = "options of the command line" if spec.kwarg or spec.vararg else ""
    return machine.call(command, Call(call.node, [], given, more))


@external(*_APPS)
def app(machine: Machine, call: Call) -> Value:
    """An object that commands are registered with, by the name that it is bound to."""
    made = machine.libraries.call_other(call.name, call)
    bound = call.node.parent
    target = bound.targets[0] if isinstance(bound, nodes.Assign) else getattr(bound, "target", None)
    if isinstance(made, Obj) and isinstance(target, nodes.AssignName):
        made.atom.know(Group(machine.frame.module, target.name))
    return made


def group(machine: Machine, by: Ext, func: Func) -> Value | None:
    """What a decorator of click makes of a function: a command or a group of some; None where it is none of these."""
    package, _, kind = by.qname.partition(".")
    if package not in _CLICK or kind not in ("command", "group"):
        return None
    atom = AbstractObject("external", cls=by, origin=by.qname, site=machine.site(func.node, func.module))
    atom.know(Group(func.module, func.name, func))
    return atom.root


def called(machine: Machine, obj: Obj, call: Call) -> Value | None:
    """A group of commands runs one of these; None for any other object."""
    known = obj.atom.state(Group) if obj.parent is None else None
    if known is None:
        return None
    made = _run(machine, known.own, call) if known.own is not None else NONE
    commands = list(_registered(machine, known))
    return one_of(machine, commands, call) if commands else made


def _registered(machine: Machine, known: Group) -> Iterator[Value]:
    """The functions that a decorator ``@name.command()`` puts into it, in its file and those that import it."""
    for module in machine.importing(known.module, [known.name]):
        for node in module.tree.body:
            decorators = node.decorators if isinstance(node, nodes.FunctionDef) else None
            if decorators is not None and any(_adds(known.name, each) for each in decorators.nodes):
                found = machine.member(module, node.name)
                if isinstance(found, Func):
                    yield found


def _adds(name: str, decorator: nodes.NodeNG) -> bool:
    adds = decorator.func if isinstance(decorator, nodes.Call) else decorator
    named = isinstance(adds, nodes.Attribute) and isinstance(adds.expr, nodes.Name) and adds.expr.name == name
    return bool(named and adds.attrname in ("command", "default"))
