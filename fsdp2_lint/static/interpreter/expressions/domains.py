"""Unknown values that are one of a few constants, as an annotation, a parser's choices or an enumeration says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from astroid import nodes

from ...budget import BUDGET
from ...domain.choices import choose
from ...domain.formulas import Formula, atoms, either, negate, one_of
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.spellings import METHODS
from ...domain.store import Items
from ...domain.values import BELOW, SOME, ClassV, Cond, Const, Obj, TupleV, Value, is_each
from ...frontend.module import Module
from ...frontend.origins import full_name
from ..call import Call
from ..machine import AnyMachine
from . import enums

Constants = tuple[Any, ...]
_BOTH = ((False, True), (True, False))


def confine(machine: AnyMachine, obj: Obj, constants: Constants | None) -> None:
    """It is one of these; None, or others than were said before: it may be anything."""
    known = machine.domains.setdefault(obj, constants)
    if known is None or constants is None or set(known) != set(constants):
        machine.domains[obj] = None


def confine_to_annotation(machine: AnyMachine, obj: Obj, module: Module, annotation: nodes.NodeNG) -> None:
    """Believe an annotation where nothing else says what a value is one of."""
    if obj not in machine.domains and (constants := annotated(machine, module, annotation)) is not None:
        machine.domains[obj] = constants


def annotated(machine: AnyMachine, module: Module, annotation: nodes.NodeNG) -> Constants | None:
    """The constants that ``Literal``, an enumeration or a union of these allow; None for anything else."""
    if isinstance(annotation, nodes.Const):
        return (None,) if annotation.value is None else None
    if isinstance(annotation, nodes.BinOp) and annotation.op == "|":
        return _united(machine, module, [annotation.left, annotation.right])
    if isinstance(annotation, nodes.Subscript):
        return _subscripted(machine, module, full_name(annotation.value), annotation.slice)
    return _named(machine, module, annotation) if isinstance(annotation, (nodes.Name, nodes.Attribute)) else None


def _subscripted(machine: AnyMachine, module: Module, name: str | None, inner: nodes.NodeNG) -> Constants | None:
    parts = inner.elts if isinstance(inner, nodes.Tuple) else [inner]
    if name in ("typing.Literal", "typing_extensions.Literal"):
        held = machine.in_module(module, lambda: [machine.eval(part) for part in parts]) or []
        return tuple(each.value for each in held if isinstance(each, Const)) if _constant(held) else None
    if name == "typing.Optional":
        found = annotated(machine, module, inner)
        return (*found, None) if found is not None else None
    if name == "typing.Union":
        return _united(machine, module, parts)
    return annotated(machine, module, parts[0]) if name == "typing.Annotated" else None


def _united(machine: AnyMachine, module: Module, parts: list[nodes.NodeNG]) -> Constants | None:
    found = [annotated(machine, module, part) for part in parts]
    return tuple(dict.fromkeys(each for one in found for each in one or ())) if None not in found else None


def _named(machine: AnyMachine, module: Module, annotation: nodes.NodeNG) -> Constants | None:
    bound = module.bindings.get(annotation.name, []) if isinstance(annotation, nodes.Name) else []
    if len(bound) == 1 and isinstance(bound[0], nodes.Assign) and isinstance(bound[0].value, nodes.Subscript):
        return annotated(machine, module, bound[0].value)  # ``Mode = Literal["ddp", "fsdp"]``
    return of_class(machine, machine.annotation(module, annotation))


def of_class(machine: AnyMachine, cls: Value | None) -> Constants | None:
    """The members of an enumeration; None for any other class."""
    if not isinstance(cls, ClassV) or not enums.is_enumeration(machine, cls):
        return None
    return tuple(each.value for each in dict.fromkeys(enums.members(machine, cls).values()))


def listed(machine: AnyMachine, value: Value) -> Constants | None:
    """What a list of choices holds, where it is constants alone."""
    held = machine.listing(value)
    items = [item for path, item in held.items if path is TRUE]
    whole = held.exact and not held.open_why and len(items) == len(held.items)
    return tuple(item.value for item in items if isinstance(item, Const)) if whole and _constant(items) else None


def _constant(held: list[Any]) -> bool:
    return bool(held) and all(isinstance(each, Const) for each in held)


def domain(machine: AnyMachine, value: Value) -> Constants | None:
    """What an unknown value is one of; None where that is not known, or where it may have been set since."""
    found = machine.domains.get(value) if isinstance(value, Obj) else None
    if found is None or not isinstance(value, Obj) or value.parent is None:
        return found
    if not machine.libraries.is_option(value):
        return found  # an annotation speaks of what is set as well
    reset = machine.store.get((value.parent, value.item)) or machine.store.get((value.parent, SOME))
    return found if reset is None else None


def equals(machine: AnyMachine, value: Value, constant: Any) -> Formula:
    """Is the unknown this constant? One of those that it may be, it is."""
    constants = domain(machine, value)
    if constants is None:
        return ("is", value, constant)
    if constant not in constants:
        return False
    if constants in _BOTH:
        return ("truth", value) if constant else negate(("truth", value))
    one_of(value, constants)
    return len(constants) == 1 or ("is", value, constant)


def is_flag(machine: AnyMachine, value: Value) -> bool:
    """Is it one of the two truth values, and no other number?"""
    return isinstance(value, Cond) or domain(machine, value) in _BOTH


def spelled_out(machine: AnyMachine, value: Value) -> Value:
    """Each constant that the unknown may be, on the path on which it is the one; itself where that is not known."""
    constants = domain(machine, value)
    if constants is None:
        return value
    paths = [(TRUE.add(equals(machine, value, each)), Const(each)) for each in constants]
    return choose([(path, each) for path, each in paths if path is not None])


def truth(machine: AnyMachine, value: Value) -> bool | None:
    """The truth that all have in common which it may be."""
    answers = {bool(each) for each in domain(machine, value) or ()}
    return answers.pop() if len(answers) == 1 else None


def stands_for_each(value: Obj) -> bool:
    """Is it a name or a number of which a loop sees one after the other?"""
    return any(is_each(item) or item in (SOME, BELOW) for item in value.path)


def added_where(held: Items) -> Formula | None:
    """The paths on which something was added to an empty list; None where a round of a loop may have added more."""
    of_rounds = any(
        path is TRUE or any(isinstance(part, Obj) and stands_for_each(part) for part in (item, *asked_of(path)))
        for path, item in held.items
    )
    return None if held.open_why or of_rounds else either([path.formula for path, _ in held.items])


def counted(conditions: list[Formula]) -> Value | None:
    """How many of a few conditions hold, each number on its paths; None where there are too many."""
    if len(set(conditions)) > BUDGET.counted:
        return None
    counts: list[tuple[PathCondition, int]] = [(TRUE, 0)]
    for condition in conditions:
        sides = [(path.add(condition, truth), number + truth) for path, number in counts for truth in (True, False)]
        counts = [(path, number) for path, number in sides if path is not None]
    return choose([(path, Const(number)) for path, number in counts])


def asked_of(path: PathCondition) -> Iterator[Any]:
    """The unknowns that a path asks about."""
    for formula, _ in path.literals:
        for leaf in atoms(formula):
            yield from leaf[1] if isinstance(leaf[1], tuple) else (leaf[1],)


def spelling_asked(text: Obj, name: str, call: Call) -> Formula | None:
    """``text.startswith("fs")``; None for other methods, and where what is asked for is not known."""
    if name not in METHODS or len(call.all) != 1 or not call.args or call.open_why or stands_for_each(text):
        return None
    given = call.args[0]
    parts = given.items if isinstance(given, TupleV) else (given,)
    words = [part.value for part in parts if isinstance(part, Const) and isinstance(part.value, str)]
    return either([("spelled", text, name, word) for word in words]) if len(words) == len(parts) else None


def part_asked(part: Value, text: Value) -> Formula:
    """``part in text``, where neither is known to be more than that."""
    word = part.value if isinstance(part, Const) else None
    if isinstance(word, str) and isinstance(text, Obj) and not stands_for_each(text):
        return ("spelled", text, "in", word)
    return ("truth", ("in", part, text))
