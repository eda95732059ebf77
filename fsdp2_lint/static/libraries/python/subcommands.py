"""Subcommands of ``argparse``, and the function that each of them leaves for the program to call.

``train.set_defaults(run=cmd_train)``, and at last ``args.run(args)``: which one that is, the command line says.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.declared import record
from ...domain.choices import choose
from ...domain.formulas import either
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.values import Bound, ClassV, Const, Func, Obj, Partial, Value
from ...interpreter.call import Call
from ...interpreter.expressions import domains
from ..interface import Machine

_COMMAND = "command"  # (_COMMAND, name): the parser of one command, as a part of the whole parser
_CALLED = (Func, Bound, Partial, ClassV)


@record
class Commands:
    """Those of a parser. ``choice``: which one was given; None where there are several such choices."""

    choice: Obj | None
    required: bool
    names: tuple[str, ...] = ()
    open: bool = False  # are there perhaps others?


@record
class Handlers:
    """What ``set_defaults`` leaves to be called: (the command or None for any, the attribute, the function)."""

    left: tuple[tuple[str | None, str, Value], ...] = ()


def begun(parser: Obj, call: Call) -> Obj:
    """``add_subparsers(dest="command")``."""
    whole, dest, required = parser.atom.root, call.kwargs.get("dest"), call.kwargs.get("required")
    named = dest.value if isinstance(dest, Const) and isinstance(dest.value, str) else None
    known = whole.atom.state(Commands)
    choice = whole.child(named if named is not None else (_COMMAND, 0)) if known is None else None
    closed = not call.open_why and parser is whole and (dest is None or named is not None)
    whole.atom.know(Commands(choice if closed else None, required == Const(True)))
    return whole.child((_COMMAND, None))


def added(parser: Obj, call: Call) -> Obj:
    """``add_parser("train")``."""
    whole, name = parser.atom.root, call.args[0] if call.args else None
    known = whole.atom.state(Commands)
    if known is None or call.open_why or not isinstance(name, Const) or not isinstance(name.value, str):
        if known is not None:
            whole.atom.know(Commands(known.choice, known.required, known.names, open=True))
        return whole.child((_COMMAND, None))
    names = tuple(dict.fromkeys((*known.names, name.value)))
    other = known.open or "aliases" in call.kwargs
    whole.atom.know(Commands(known.choice, known.required, names, open=other))
    return whole.child((_COMMAND, name.value))


def left(parser: Obj, call: Call) -> None:
    """``set_defaults(run=cmd_train)``, of the parser of one command or of the whole one."""
    whole = parser.atom.root
    command = parser.item[1] if isinstance(parser.item, tuple) and parser.item[0] == _COMMAND else None
    if parser is not whole and command is None:
        return
    known = whole.atom.state(Handlers) or Handlers()
    more = ((command, name, value) for name, value in call.kwargs.items() if isinstance(value, _CALLED))
    whole.atom.know(Handlers((*known.left, *more)))


def parsed(machine: Machine, whole: Obj) -> None:
    """From here on attributes are what the command says that was given."""
    commands, handlers = whole.atom.state(Commands), whole.atom.state(Handlers)
    if handlers is None or commands is not None and commands.choice is None:
        return
    if commands is not None and commands.choice is not None and not commands.open:
        others = () if commands.required else (None,)
        machine.domains[commands.choice] = (*commands.names, *others)
    for name in dict.fromkeys(name for _, name, _ in handlers.left):
        paths = list(_paths(machine, name, commands, handlers))
        default = next(
            (value for command, each, value in reversed(handlers.left) if each == name and not command), None
        )
        rest = TRUE.add(either([path.formula for path, _ in paths]), False) if paths else TRUE
        if rest is not None and (default is not None or commands is not None and commands.open):
            paths.append((rest, default if default is not None else whole.child(name)))
        if paths:
            machine.store.put((whole, name), choose(paths))


def _paths(
    machine: Machine, name: str, commands: Commands | None, handlers: Handlers
) -> Iterator[tuple[PathCondition, Value]]:
    """The function of each command. Without a command there is none, and the program ends where it is asked for."""
    if commands is None or commands.choice is None:
        return
    found = {command: value for command, each, value in handlers.left if each == name and command is not None}
    for command, value in found.items():
        path = TRUE.add(domains.equals(machine, commands.choice, command))
        if path is not None:
            yield path, value
