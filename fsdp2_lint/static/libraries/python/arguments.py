"""Command lines: parsers of ``argparse``, and the defaults of their options."""

from __future__ import annotations

from collections.abc import Mapping

from ....vocab.declared import record
from ...domain.formulas import both
from ...domain.values import NONE, SOME, AbstractObject, ClassV, Const, Obj, TupleV, Value, unknown
from ...interpreter.call import Call
from ...interpreter.expressions import domains, enums
from ...interpreter.frames import Diverges
from ..interface import Machine
from . import subcommands

PARSER = "argparse.ArgumentParser"  # and whatever else makes options of a command line
_SWITCHES = (Const("store_true"), Const("store_false"))
_TRUTHS = (Const(True), Const(False))


@record
class Defaults:
    """Of the options of a parser, by name."""

    by_option: Mapping[object, Value]


@record
class Options:
    """Of a parser, by name: are they all that one statement adds?"""

    by_name: Mapping[str, bool]


@record
class Exclusive:
    """Of a parser, by group of options that exclude each other: those that are unset where they are false."""

    by_group: Mapping[Obj, tuple[str, ...]]


def _options(parser: AbstractObject) -> Mapping[str, bool]:
    known = parser.state(Options)
    return known.by_name if known is not None else {}


def _add_options(parser: AbstractObject, more: Mapping[str, bool]) -> None:
    parser.know(Options({**_options(parser), **more}))


def is_parser(atom: AbstractObject) -> bool:
    """Options are attributes of the parser itself."""
    return atom.origin.startswith("argparse")


def defaults(parser: AbstractObject) -> Mapping[object, Value]:
    """Of those options that have one."""
    known = parser.state(Defaults)
    return known.by_option if known is not None else {}


def parser_method(machine: Machine, obj: Obj, name: str, call: Call) -> Value | None:
    """Options are attributes of the parser itself, with their defaults."""
    if name == "add_argument":
        flags = [value.value for value in call.args if isinstance(value, Const) and isinstance(value.value, str)]
        long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
        given = call.arg(None, "dest")
        dest = given.value if isinstance(given, Const) else long.lstrip("-").replace("-", "_")
        _add_options(obj.atom, {dest: not call.open_why and bool(dest)})
        if isinstance(obj.item, tuple) and obj.item[0] == "group" and not call.open_why and dest:
            _exclude_each_other(machine, obj, dest, call)
        if "default" in call.kwargs:
            obj.atom.know(Defaults({**defaults(obj.atom), dest: call.kwargs["default"]}))
        kind = call.kwargs.get("type")
        if isinstance(kind, ClassV) and "nargs" not in call.kwargs:
            machine.types.setdefault(obj.atom.root.child(dest), kind)
        domains.confine(
            machine, obj.atom.root.child(dest), _constants(machine, call, positional=not long.startswith("-"))
        )
        return NONE
    if name == "set_defaults":
        _other_defaults(machine, obj.atom.root, call)
        subcommands.left(obj, call)
        return NONE
    if name in ("error", "exit") and obj.parent is None:
        machine.stops += 1
        machine.frame.refuses = True
        machine.quiet_exits += name == "exit" and call.arg(0, "status") in (None, Const(0))
        raise Diverges
    if name == "add_mutually_exclusive_group":
        return obj.atom.root.child(("group", machine.fresh()))
    if name in ("parse_args", "parse_known_args"):
        subcommands.parsed(machine, obj.atom.root)
    if name in ("add_argument_group", "parse_args"):
        return obj.atom.root
    if name == "add_subparsers":
        _add_options(obj.atom, {"": False})  # which of theirs there are is not known
        return subcommands.begun(obj, call)
    if name == "add_parser":
        return subcommands.added(obj, call)
    if name == "parse_known_args":
        return TupleV((obj, unknown("further arguments")))
    return None


def _exclude_each_other(machine: Machine, group: Obj, dest: str, call: Call) -> None:
    """Of a group whose options exclude each other at most one is set, where what is not set is false."""
    if call.kwargs.get("default", NONE) not in (NONE, Const(False)) or call.kwargs.get("action") == Const(
        "store_false"
    ):
        return
    known = group.atom.state(Exclusive) or Exclusive({})
    others = known.by_group.get(group, ())
    group.atom.know(Exclusive({**known.by_group, group: (*others, dest)}))
    for other in others:
        two = both([("truth", group.atom.root.child(each)) for each in (other, dest)])
        machine.guard = machine.checked_path(machine.guard, machine.guard.add(two, False))


def _constants(machine: Machine, call: Call, *, positional: bool) -> domains.Constants | None:
    """What an option may be: its choices, or the members of its type, and its default; None where that is open."""
    if call.kwargs.get("action") in _SWITCHES and call.kwargs.get("default", Const(False)) in _TRUTHS:
        return None if call.open_why else (True, False)
    if call.open_why or call.kwargs.keys() & {"nargs", "action", "const"}:
        return None
    listed = call.kwargs.get("choices")
    found = domains.listed(machine, listed) if listed is not None else None
    found = found or domains.of_class(machine, call.kwargs.get("type"))
    given = call.kwargs.get("required") == Const(True) or positional
    default = call.kwargs.get("default", NONE)
    if found is None or given:
        return found
    return tuple(dict.fromkeys((*found, *_converted(machine, call, default)))) if isinstance(default, Const) else None


def _converted(machine: Machine, call: Call, default: Const) -> domains.Constants:
    """A default that is a text goes through the option's type, as what is written on the command line does."""
    kind = call.kwargs.get("type")
    if not isinstance(default.value, str) or not isinstance(kind, ClassV) or not domains.of_class(machine, kind):
        return (default.value,)
    made = enums.by_value(machine, kind, default)
    return (made.value,) if isinstance(made, Const) else ()


def _other_defaults(machine: Machine, parser: Obj, call: Call) -> None:
    """Defaults that no choices confine, for any option where it is not seen for which."""
    domains_ = machine.domains
    for option in [each for each in domains_ if each.parent is parser]:
        if call.open_why or option.item in call.kwargs:
            domains_[option] = None
    for named, value in call.kwargs.items():
        parser.atom.know(Defaults({**defaults(parser.atom), named: value}))
    _add_options(parser.atom, dict.fromkeys(call.kwargs, not call.open_why))


def options_of(machine: Machine, value: Value) -> dict[str, Value] | None:
    """What ``vars(args)`` holds; None where not all options are known, and for anything else."""
    parser = value.parent if isinstance(value, Obj) and value.item == "__dict__" else None
    if parser is None or parser.parent is not None:
        return None
    known = _options(parser.atom)
    if not known or not all(known.values()) or machine.store.get((parser, SOME)) is not None:
        return None
    names = [*known, *(each for each in machine.store.fields.get(parser, ()) if isinstance(each, str))]
    return {name: machine.store.get((parser, name)) or parser.child(name) for name in names}
