"""What is made of values that each rank has for itself is its own: who makes it, and in how far that is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ....vocab.finding import Moment
from ...domain.values import AbstractObject, Cond, ListV, Obj, Rank, Text, Value, unknown
from ...frontend.packages import builds_models
from ..machine import AnyMachine
from .own_values import Own, first, own_of, unseen


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


def picked(machine: AnyMachine, of: Obj, indices: Iterable[Value], part: Value, when: Moment) -> Value:
    """``part`` of some data, taken out by ``indices``: this rank's own where one of them is made of its number."""
    data = of.atom.kind == "unknown" and not of.atom.module and not builds_models(of.atom.origin)
    if not (data and isinstance(part, Obj) and any(map(of_rank, indices))):
        return part
    made = AbstractObject("unknown", origin="a part for each rank", site=when.at)
    made.operands = (of, *indices)
    began(machine, made, Own("the part of the data that this rank takes", when=when, picked=True))
    return made.root
