"""What is made of values that each rank has for itself is its own: who makes it, and in how far that is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from astroid import nodes

from ....vocab.finding import Moment
from ...domain.formulas import Formula, atoms
from ...domain.values import AbstractObject, Cond, Const, ListV, Obj, Rank, Text, TupleV, Value, is_each, unknown
from ...frontend.packages import builds_models
from ..machine import AnyMachine
from .own_values import RANGE, Own, first, own_of, rounds_of, unseen

PART = "a part for each rank"  # of some data: the first operand; the others say which


def began(machine: AnyMachine, atom: AbstractObject, own: Own) -> None:
    machine.owned = True
    atom.know(replace(own, via=own.via | {atom.root}))


def passed_on(
    machine: AnyMachine, made: Obj, parts: Iterable[Value], *, doubt: str = "", elements: bool = False
) -> None:
    """What is made of a rank's own values is its own. ``doubt``: why it may be the same all the same."""
    own = first(machine, parts)
    if own is not None and made.atom.state(Own) is None:
        began(machine, made.atom, replace(own, elements=elements, doubt=own.doubt or doubt))


def kept_by_package(machine: AnyMachine, qname: str, given: list[Value]) -> None:
    """What a package that is not seen keeps of a rank's own values, its objects may tell."""
    if (own := first(machine, given)) is not None:
        doubt = own.doubt or f"whether what {qname}() left there is the same on all ranks is not known"
        machine.own_packages[qname.partition(".")[0]] = replace(own, elements=False, doubt=doubt)


def handed(machine: AnyMachine, obj: Obj, made: Obj, given: list[Value], *, followed: bool) -> None:
    """A method of ``obj`` was given such values and returned ``made``. ``followed``: what it does to them is known."""
    own = first(machine, given) if not obj.atom.module else None
    if own is None:
        return
    doubt = "" if followed else unseen(str(made.item[1]))
    machine.own_answers[made] = replace(own, via=own.via | {made}, elements=False, doubt=own.doubt or doubt)
    if not followed and obj.atom.kind == "opaque":
        doubt = f"whether what {made.item[1]}() left in it is the same on all ranks is not known"
        machine.own_answers[obj] = replace(own, via=own.via | {obj}, elements=False, doubt=own.doubt or doubt)


def taken_by(machine: AnyMachine, part: Value, indices: list[Value]) -> None:
    """A part of something was taken out by such a value: by an index, or by a key."""
    if not machine.owned or not isinstance(part, Obj):
        return
    if (own := first(machine, indices)) is not None and own_of(machine, part) is None:
        doubt = own.doubt or "whether all ranks take the same part of it is not known"
        machine.own_answers[part] = replace(own, via=own.via | {part}, elements=False, doubt=doubt)


def arms_of(machine: AnyMachine, arms: tuple[str, int], *keys: Value) -> None:
    """One of several is taken, by such an index or key, or out of what has such keys."""
    if machine.owned and (own := first(machine, keys)) is not None:
        machine.own_arms[arms] = replace(own, elements=False)


def one_for_several(machine: AnyMachine, item: Value, key: Value) -> Value:
    """What stands for several of which one is taken, by such an index or key: it says nothing of that one."""
    if machine.owned and isinstance(item, (Cond, Text)) and first(machine, [key]) is not None:
        item = unknown("an item")
        passed_on(machine, item, [key])
    return item


def cut_by(machine: AnyMachine, part: ListV, bounds: Iterable[Value]) -> None:
    """A part of a list ends at such numbers: how much it holds is not known."""
    if machine.owned and (own := first(machine, bounds)) is not None:
        machine.own_sizes[part] = own


def as_many_as(machine: AnyMachine, made: ListV, sources: Iterable[Value]) -> None:
    """A list of an element for each of others: a rank's own number of them makes as many."""
    for source in sources if machine.owned else ():
        if (own := rounds_of(machine, source)) is not None:
            machine.own_sizes[made] = own


def part_by(machine: AnyMachine, part: Obj, bounds: Iterable[Value]) -> Obj:
    """A part of something that is not known, between such numbers."""
    if machine.owned and (own := first(machine, bounds)) is not None:
        began(machine, part.atom, replace(own, picked=True, elements=False))
    return part


def number_of_rank(machine: AnyMachine, rank: Rank) -> Rank:
    """What is made of it may be another value on each rank."""
    machine.owned = True
    return rank


def of_rank(value: Value) -> bool:
    """Is it a number of this rank, or made of one?"""
    return isinstance(value, Rank) or isinstance(value, Obj) and value.atom.per_rank


def dealt(machine: AnyMachine, value: Value, node: nodes.NodeNG) -> Value:
    """What a generator yields is the rank's own if its number says which elements of a loop come to that.

    ``if number % world == rank: yield line``, or what goes on with the next one otherwise.
    """
    by_rank = [part for formula, _ in machine.guard.literals for part in _deals(formula)] if machine.owned else []
    if not by_rank:
        return value
    if isinstance(value, TupleV):
        return TupleV(tuple(dealt(machine, part, node) for part in value.items))
    return part_of_rank(machine, value, by_rank, machine.moment(node)) if is_data(value) else value


def _deals(formula: Formula) -> list[Value]:
    """The rank that an element of a loop, or its number, is compared with, and all that is asked beside it."""
    parts = [part for atom in atoms(formula) for part in _inside(atom)]
    counted = (part for part in parts if isinstance(part, Obj))
    by_elements = any(part.atom.origin == RANGE or any(map(is_each, part.path)) for part in counted)
    return parts if by_elements and any(isinstance(part, Rank) for part in parts) else []


def _inside(part: Any) -> Iterator[Value]:
    if isinstance(part, tuple):
        for each in part:
            yield from _inside(each)
    elif isinstance(part, Obj) and part.parent is None and part.atom.operands:
        for each in part.atom.operands:
            yield from _inside(each)
    elif isinstance(part, (Obj, Rank)):
        yield part


def picked(machine: AnyMachine, of: Obj, indices: Iterable[Value], part: Value, when: Moment) -> Value:
    """``part`` of some data, taken out by ``indices``: this rank's own where one of them is made of its number."""
    data = of.atom.kind == "unknown" and is_data(of)
    if not (data and isinstance(part, Obj) and any(map(of_rank, indices))):
        return part
    return part_of_rank(machine, of, indices, when)


def part_of_rank(machine: AnyMachine, of: Value, indices: Iterable[Value], when: Moment) -> Obj:
    made = AbstractObject("unknown", origin=PART, site=when.at)
    made.operands = (of, *indices)
    began(machine, made, Own("the part of the data that this rank takes", when=when, picked=True))
    return made.root


def is_data(value: Value | None) -> bool:
    """A file, which is its name here, or what was read of one, such as a line of JSON."""
    if not isinstance(value, Obj):
        return isinstance(value, (Const, Text))
    kind = value.atom.kind in ("unknown", "configuration")
    return kind and not value.atom.module and not builds_models(value.atom.origin)
