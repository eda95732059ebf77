"""Command lines: parsers of ``argparse``, and the defaults of their options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...domain.values import NONE, Atom, ClassV, Const, Obj, TupleV, Value, unknown
from ...interpreter.call import Call
from ..interface import Machine


@dataclass(frozen=True, slots=True)
class Defaults:
    """Of the options of a parser, by name."""

    by_option: Mapping[object, Value]


def defaults(parser: Atom) -> Mapping[object, Value]:
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
        if "default" in call.kwargs:
            obj.atom.know(Defaults({**defaults(obj.atom), dest: call.kwargs["default"]}))
        kind = call.kwargs.get("type")
        if isinstance(kind, ClassV) and "nargs" not in call.kwargs:
            machine.types.setdefault(obj.atom.root.child(dest), kind)
        return NONE
    if name in ("add_argument_group", "add_mutually_exclusive_group", "parse_args"):
        return obj
    if name == "parse_known_args":
        return TupleV((obj, unknown("further arguments")))
    return None
