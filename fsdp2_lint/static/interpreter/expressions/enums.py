"""Enumerations of the project: their members are constants that know their class, name and value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from astroid import nodes

from ....vocab.declared import record
from ...budget import BUDGET
from ...domain.choices import choose
from ...domain.formulas import Formula, either
from ...domain.knowledge import Single
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.values import Bound, ClassV, Const, Ext, Func, Obj, Text, Value, unknown
from ...frontend.origins import full_name
from ..machine import AnyMachine
from ..syntax import class_body, decorator_names

_ENUMS = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum"})  # flags are numbers that can be put together
_WORDS, _NUMBERS = frozenset({"builtins.str", "enum.StrEnum"}), frozenset({"builtins.int", "enum.IntEnum"})
_OWN = frozenset(
    {"__new__", "__init__", "_missing_", "_generate_next_value_", "__eq__", "__hash__", "__bool__", "__len__"}
)


@record
class Member(Single):
    """A member of an enumeration: equal to itself alone."""

    cls: ClassV
    name: str
    own: Value = field(compare=False)  # what ``.value`` gives

    def __str__(self) -> str:
        return f"{self.cls.name}.{self.name}"


class Word(str):
    """A member that is a string as well, and equal to it."""

    member: Member


class Number(int):
    """A member that is a number as well."""

    member: Member


def as_member(value: object) -> Member | None:
    if isinstance(value, Const):
        value = value.value
    if isinstance(value, (Word, Number)):
        return value.member
    return value if isinstance(value, Member) else None


def is_enumeration(machine: AnyMachine, cls: object) -> bool:
    """Is it an enumeration that makes its members as ``enum`` does?"""
    return made_by(machine, cls, _ENUMS, _OWN)


def made_by(machine: AnyMachine, cls: object, classes: frozenset[str], own: frozenset[str]) -> bool:
    """Is it derived from one of these of ``enum``, and has none of these methods of its own?"""
    bases = machine.mro(cls) if isinstance(cls, ClassV) else []
    derived = any(isinstance(base, Ext) and base.qname in classes for base in bases)
    return derived and not any(isinstance(base, ClassV) and own & class_body(base.node).keys() for base in bases)


def members(machine: AnyMachine, cls: ClassV) -> dict[str, Const]:
    """All members by name, in order; an alias is the member that it stands for."""
    found: dict[str, Const] = {}
    values: dict[object, Const] = {}
    for name, node in class_body(cls.node).items():
        if isinstance(node, nodes.Assign) and not name.startswith("_"):
            own = _own_value(machine, cls, name, node, found)
            alias = values.get(own.value) if isinstance(own, Const) else None
            found[name] = alias or _made(machine, Member(cls, name, own))
            values.update({own.value: found[name]} if isinstance(own, Const) else {})
    return found


def _own_value(machine: AnyMachine, cls: ClassV, name: str, node: nodes.Assign, so_far: dict[str, Const]) -> Value:
    if not (isinstance(node.value, nodes.Call) and full_name(node.value.func) == "enum.auto"):
        return machine.class_default(cls, node.value)
    if Ext("enum.StrEnum") in machine.mro(cls):
        return Const(name.lower())
    last = [member.own for each in so_far.values() if (member := as_member(each)) is not None][-1:]
    before = last[0].value if last and isinstance(last[0], Const) else 0
    return Const(before + 1 if isinstance(before, int) else 1)


def _made(machine: AnyMachine, member: Member) -> Const:
    bases = {base.qname for base in machine.mro(member.cls) if isinstance(base, Ext)}
    own = member.own.value if isinstance(member.own, Const) else None
    made: Member | Word | Number = member
    if bases & _WORDS and isinstance(own, str):
        made = Word(own)
        made.member = member
    elif bases & _NUMBERS and isinstance(own, int):
        made = Number(own)
        made.member = member
    return Const(made)


def by_value(machine: AnyMachine, cls: ClassV, value: Value) -> Value:
    """``Kind(value)``: a member that is handed in is itself."""
    return machine.over(value, lambda leaf: _with(machine, cls, leaf, lambda member: member.own, "value"))


def by_name(machine: AnyMachine, cls: ClassV, name: Value) -> Value:
    """``Kind[name]``"""
    return machine.over(name, lambda leaf: _with(machine, cls, leaf, lambda member: Const(member.name), "name"))


def _with(machine: AnyMachine, cls: ClassV, asked: Value, of: Callable[[Member], Value], what: str) -> Value:
    own = as_member(asked)
    if own is not None and own.cls == cls and what == "value":
        return asked
    if not (isinstance(asked, (Obj, Const)) or isinstance(asked, Text) and asked.of):
        asked = unknown(f"the {what} of a member of {cls.name}")
    found = _spread(
        machine, cls, asked, lambda each, member: each, lambda each, member: machine.equal(asked, of(member))
    )
    those = [member for each in members(machine, cls).values() if (member := as_member(each)) is not None]
    one = either([machine.equal(asked, of(member)) for member in those])
    machine.guard = machine.checked_path(machine.guard, machine.guard.add(one))  # any other raises
    return found


def _spread(
    machine: AnyMachine, cls: ClassV, whole: Value, of: Callable[[Const, Member], Value],
    path: Callable[[Const, Member], Formula],
) -> Value:  # fmt: skip
    """One of the members, each on the path on which it is the one."""
    found: list[tuple[PathCondition, Value]] = []
    for each in dict.fromkeys(members(machine, cls).values()):
        if (member := as_member(each)) is not None and (taken := TRUE.add(path(each, member))) is not None:
            found.append((taken, of(each, member)))
    if not found or len(found) > BUDGET.options:
        left = unknown(f"a member of {cls.name}")
        machine.types[left] = cls
        return left
    return choose(found)


def of_instance(machine: AnyMachine, obj: Obj, cls: ClassV, name: str) -> Value | None:
    """What is read off a member that is not known: which one it is is what ``obj is Kind.MEMBER`` asks."""
    if name in ("value", "_value_"):
        return _spread(machine, cls, obj, lambda _, member: member.own, lambda each, _: machine.equal(obj, each))
    if name in ("name", "_name_"):
        return _spread(
            machine, cls, obj, lambda _, member: Const(member.name), lambda each, _: machine.equal(obj, each)
        )
    return members(machine, cls).get(name)


def of_member(machine: AnyMachine, value: Const, name: str, node: nodes.NodeNG) -> Value | None:
    """An attribute of a member: its value, its name, what its class defines. None: what its value has."""
    member = as_member(value)
    if member is None:
        return None
    if name in ("value", "_value_"):
        return member.own
    if name in ("name", "_name_"):
        return Const(member.name)
    found = machine.class_member(member.cls, name)
    if found is None:
        return machine.get_attr_of(Const(str(value.value)), name, node) if isinstance(value.value, Word) else None
    return members(machine, member.cls).get(name) or _defined(machine, value, *found)


def _defined(machine: AnyMachine, value: Const, owner: ClassV, node: nodes.NodeNG) -> Value | None:
    if not isinstance(node, nodes.FunctionDef):
        return None
    kinds = decorator_names(node)
    func = machine.decorated_method(node, Func(owner.module, node, owner.closure, owner))
    if kinds & {"property", "cached_property", "functools.cached_property"}:
        return machine.call_function(func, [], {}, node, receiver=value)
    if "staticmethod" in kinds:
        return func
    return Bound(owner if "classmethod" in kinds else value, func)


def of_class(machine: AnyMachine, cls: ClassV, name: str) -> Value | None:
    """``Kind.MEMBER`` and ``Kind.__members__``; None for what else the class has."""
    found = members(machine, cls)
    if name == "__members__":
        return machine.new_dict({Const(each): member for each, member in found.items()})
    return found.get(name)
