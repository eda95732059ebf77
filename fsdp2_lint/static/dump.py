"""A trace as text, for ``--dump-trace`` and for comparing what two versions of the tool see.

Equal behaviour gives equal text: numbers that only tell values apart are counted anew by where they are first met, what
has no order is sorted, and fields that hold nothing are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from enum import Enum
from functools import singledispatchmethod
from types import EllipsisType
from typing import Any

from astroid import nodes

from ..vocab.finding import Moment, Site
from .domain.events import AnyStep, AsksRanks, InLoops, Step
from .domain.formulas import LARGE, Interned
from .domain.path_conditions import PathCondition
from .domain.trace import Trace
from .domain.values import AbstractObject, Const, Obj
from .frontend.module import Module

_LONG, _LONGEST = "expr", 160  # what is longer has a number
_MARK = re.compile("\0([^\0]*)\0([0-9]+)\0")
# Fields that hold no quantity but a number that tells one from another, and what it is the number of.
_NUMBERS = {
    ("ListV", "id"): "list",
    ("DictV", "id"): "dict",
    ("Func", "closure"): "frame",
    ("ClassV", "closure"): "frame",
    ("Text", "of"): "text",
    ("generator", "made"): "list",
    ("reduced", "made"): "value",
}
# Likewise in what is asked.
_DECISIONS = {"fork": "fork", "alt": "alt", "pattern": "pattern", "list": "list", LARGE: "condition"}


def dump(trace: Trace) -> Iterator[str]:
    """Each step on one line, and below it what it tells, one field a line."""
    writer = Writer()
    for step in trace.steps:
        for line in _lines(step, writer):
            yield from writer.finished(line)


def fields_of(step: AnyStep) -> list[tuple[str, Any]]:
    """What a step tells beyond what happens when and to whom, by name; what holds nothing is left out."""
    told = {each.name: getattr(step.what, each.name) for each in fields(step.what)}
    told |= {"asked": step.kept_asked} if isinstance(step.what, AsksRanks) else {}
    told |= {"loops": step.kept_loops} if isinstance(step.what, InLoops) else {}
    return sorted((name, value) for name, value in told.items() if not _is_nothing(value))


def _is_nothing(value: object) -> bool:
    return value is None or value is False or isinstance(value, (str, tuple, list, dict, frozenset, set)) and not value


def _lines(step: AnyStep, writer: Writer) -> Iterator[str]:
    about = f" {writer.text(step.subject)}" if step.subject else ""
    frames = " < ".join(_mark("frame", frame) for frame in reversed(step.frames))
    callback = f", {_mark('callback', step.context)}" if step.context else ""
    where = f"{writer.text(step.when)} [{writer.text(step.guard)}]"
    yield f"{step.index:5} {step.what.kind}{about} at {where} {frames}{callback}"
    for name, value in fields_of(step):
        yield f"      | {name}: {writer.field(step.what.kind, name, value)}"


class Writer:
    """Values as text, with marks in place of their numbers until the text is :meth:`finished`.

    Conditions and values that are long, and are met again and again, are told once and have a number from then on.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}
        self._counts: Counter[str] = Counter()
        self._texts: dict[PathCondition | Interned | Obj, str] = {}  # the same ones are met at many steps
        self._long: list[str] = []

    def finished(self, text: str) -> Iterator[str]:
        """The line of this text, after those that tell what is long in it and was not met yet."""
        for mark in _MARK.findall(text):
            if mark[0] == _LONG and mark not in self._numbers:
                yield from self.finished(f"      where {self._number(mark)} is {self._long[int(mark[1])]}")
        yield _MARK.sub(lambda found: self._number((found[1], found[2])), text)

    def _number(self, mark: tuple[str, str]) -> str:
        kind, _ = mark
        if mark not in self._numbers:
            self._counts[kind] += 1
            self._numbers[mark] = self._counts[kind]
        return f"{kind}#{self._numbers[mark]}"

    def _once(self, value: PathCondition | Interned | Obj, make: Callable[[Any], str]) -> str:
        if value not in self._texts:
            text = make(value)
            if len(_MARK.sub("", text)) > _LONGEST:  # however many digits the numbers have
                self._long.append(text)
                text = _mark(_LONG, len(self._long) - 1)
            self._texts[value] = text
        return self._texts[value]

    def field(self, holder: str, name: str, value: Any) -> str:
        """The value of a field of a step or of a value of this kind."""
        if (holder, name) in _NUMBERS:
            return _mark(_NUMBERS[holder, name], value)
        return self._asked(value) if (holder, name) == ("consumed", "generator") else self.text(value)

    @singledispatchmethod
    def text(self, value: Any) -> str:
        if not is_dataclass(value):
            raise TypeError(f"no text for a {type(value).__name__}")
        kind = type(value).__name__
        told = ((each.name, getattr(value, each.name)) for each in fields(value) if not _is_left_out(each, value))
        return f"{kind}({', '.join(f'{name}={self.field(kind, name, held)}' for name, held in told)})"

    @text.register(type(None))
    @text.register(EllipsisType)
    @text.register(int)
    @text.register(float)
    @text.register(complex)
    @text.register(str)
    @text.register(bytes)
    def _(self, value: object) -> str:
        return repr(value)

    @text.register
    def _(self, value: Enum) -> str:
        return f"{type(value).__name__}.{value.name}"

    @text.register(tuple)
    @text.register(list)
    def _(self, value: Iterable[Any]) -> str:
        return f"[{', '.join(map(self.text, value))}]"

    @text.register(set)
    @text.register(frozenset)
    def _(self, value: Iterable[Any]) -> str:
        return f"{{{', '.join(sorted(map(self.text, value), key=_order))}}}"

    @text.register
    def _(self, value: Mapping) -> str:  # type: ignore[type-arg]
        entries = (f"{self.text(key)}: {self.text(held)}" for key, held in value.items())
        return f"{{{', '.join(sorted(entries, key=_order))}}}"

    @text.register
    def _(self, value: Site) -> str:
        cell = f"cell {value.cell}:" if value.cell else ""
        return f"{value.path}:{cell}{value.row}:{value.column}"

    @text.register
    def _(self, value: Moment) -> str:
        return " < ".join(map(self.text, reversed(value.chain)))

    @text.register
    def _(self, value: Step) -> str:  # type: ignore[type-arg]  # dispatched by the class alone
        return f"step {value.index}"

    @text.register
    def _(self, value: Module) -> str:
        return f"<module {value.path}>"

    @text.register
    def _(self, value: nodes.NodeNG) -> str:
        return f"<{type(value).__name__} {value.root().file}:{value.lineno}:{value.col_offset + 1}>"

    @text.register
    def _(self, value: Const) -> str:
        return f"Const({self.text(value.value)})"

    @text.register
    def _(self, value: AbstractObject) -> str:
        name = value.origin or getattr(value.cls, "name", "") or self.text(value.cls)
        return f"<{value.kind} {name}{_mark('', value.id)}{' of many' if value.many else ''}>"

    @text.register
    def _(self, value: Obj) -> str:
        return self._once(value, self._object)

    @text.register
    def _(self, value: PathCondition) -> str:
        return self._once(value, self._path)

    @text.register
    def _(self, value: Interned) -> str:
        return self._once(value, self._formula)

    def _object(self, value: Obj) -> str:
        if value.parent is None:
            return self.text(value.atom)
        return f"{self.text(value.parent)}.{value.item if isinstance(value.item, str) else self.text(value.item)}"

    def _path(self, guard: PathCondition) -> str:
        return (
            " & ".join(self.text(part) if truth else f"not {self.text(part)}" for part, truth in guard.literals)
            or "TRUE"
        )

    def _formula(self, formula: Any) -> str:
        match tuple(formula):
            case ("and" | "or" as word, parts):
                return f"({f' {word} '.join(map(self.text, parts))})"
            case ("not", part):
                return f"not {self.text(part)}"
            case ("is", asked, constant):
                return f"{self._asked(asked)} == {self.text(constant)}"
            case ("compared", asked, op, number):
                return f"{self._asked(asked)} {op} {number!r}"
            case ("spelled", asked, how, text):
                return f"{how}({self._asked(asked)}, {text!r})"
            case ("truth", asked):
                return self._asked(asked)
        raise TypeError(f"no text for a formula of the form {formula[0]!r}")

    def _asked(self, asked: Any) -> str:
        """What a formula is about: a value, or a tuple of what is asked and of whom."""
        if type(asked) is not tuple or not isinstance(asked[0], str):
            return self.text(asked)
        return f"{asked[0]}({', '.join(self._part(asked[0], part) for part in asked[1:])})"

    def _part(self, kind: str, part: Any) -> str:
        if type(part) is int and kind in _DECISIONS:
            return _mark(_DECISIONS[kind], part)
        return _mark("other", id(part)) if type(part) is object else self._asked(part)


def _mark(kind: str, number: int) -> str:
    return f"\0{kind}\0{number}\0"


def _order(text: str) -> tuple[list[str], list[int]]:
    """By the words; of those that differ in nothing else the one that was made first is first."""
    parts = _MARK.split(text)
    return parts[::3] + parts[1::3], list(map(int, parts[2::3]))


def _is_left_out(each: Field[Any], value: Any) -> bool:
    held = getattr(value, each.name)
    return type(held) is type(each.default) and bool(held == each.default)
