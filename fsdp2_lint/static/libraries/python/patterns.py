"""Regular expressions and shell patterns, matched where they and the text are written in the source.

Filters by the names of modules are made of these: ``re.fullmatch(r"layers\\.\\d+", name)``.
"""

from __future__ import annotations

import fnmatch
import re
import warnings

from ....vocab.declared import record
from ...budget import BUDGET
from ...domain.values import NONE, AbstractObject, Const, Ext, Obj, Value
from ...interpreter.call import Call
from ..interface import Machine
from ..tables import external

_WAYS = ("match", "fullmatch", "search")
_UNBOUNDED = re.compile(r"[*+]|\{\d*,\}")
# A repeated group that repeats something itself, or a reference to what was matched, may try for hours.
_DEAR = re.compile(r"\)[*+{]|\\\d|\(\?P=|\(\?\(")


@record
class Compiled:
    """A pattern without flags."""

    text: str


@external("re.compile")
def compiled(machine: Machine, call: Call) -> Value:
    made = machine.libraries.call_other(call.name, call)
    if isinstance(made, Obj) and len(call.all) == 1 and (text := _text(call.arg(0, "pattern"))) is not None:
        made.atom.know(Compiled(text))
    return made


@external(*(f"re.{way}" for way in _WAYS))
def matched(machine: Machine, call: Call) -> Value:
    pattern, text = call.arg(0, "pattern"), call.arg(1, "string")
    if pattern is None or text is None or len(call.all) > 2 or call.open_why:
        return machine.libraries.call_other(call.name, call)
    return _for_each(machine, call, call.name.rpartition(".")[2], pattern, text)


@external("fnmatch.fnmatch", "fnmatch.fnmatchcase")
def named_like(machine: Machine, call: Call) -> Value:
    name, pattern = call.arg(0, "name"), _text(call.arg(1, "pat"))
    if name is None or pattern is None or pattern.count("*") > BUDGET.repeats:
        return machine.libraries.call_other(call.name, call)

    def one(leaf: Value) -> Value:
        text = _text(leaf)
        return machine.libraries.call_other(call.name, call) if text is None else Const(fnmatch.fnmatch(text, pattern))

    return machine.over(name, one)


def is_asked_of(obj: Obj, name: object) -> bool:
    """Is this a method of a pattern that matches it?"""
    return name in _WAYS and obj.parent is None and obj.atom.state(Compiled) is not None


def asked(machine: Machine, obj: Obj, name: str, call: Call) -> Value | None:
    """``pattern.fullmatch(name)``; None for a method of anything else, and of a part of a text."""
    if not is_asked_of(obj, name) or len(call.all) != 1 or call.open_why:
        return None
    return _for_each(machine, call, name, obj, call.all[0])


def _for_each(machine: Machine, call: Call, way: str, pattern: Value, text: Value) -> Value:
    """A match or None, by what the text is; unknown where the pattern or the text is not written down, or dear."""
    known = pattern.atom.state(Compiled) if isinstance(pattern, Obj) else None
    regex = _cheap(known.text if known is not None else _text(pattern))

    def one(leaf: Value) -> Value:
        subject = _text(leaf)
        if regex is None or subject is None or len(subject) > BUDGET.matched_text:
            return machine.libraries.call_other(f"re.{way}", call)
        if getattr(regex, way)(subject) is None:
            return NONE
        return AbstractObject("external", cls=Ext("re.Match"), origin="re.Match", site=machine.site(call.node)).root

    return machine.over(text, one)


def _cheap(pattern: str | None) -> re.Pattern[str] | None:
    if pattern is None or _DEAR.search(pattern) or len(_UNBOUNDED.findall(pattern)) > BUDGET.repeats:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a pattern of the program, not of this tool
            return re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None


def _text(value: Value | None) -> str | None:
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else None
