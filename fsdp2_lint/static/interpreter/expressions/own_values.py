"""Values that each rank has for itself, such as its clock and its batches, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ....vocab.declared import record
from ....vocab.finding import Moment
from ...domain.formulas import Formula, atoms
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.values import (
    PICK,
    AbstractObject,
    Computed,
    Cond,
    Const,
    GuardedUnion,
    ListV,
    Obj,
    Rank,
    TupleV,
    Value,
    is_call,
    is_each,
)
from ...frontend.packages import builds_models
from ..machine import AnyMachine

# What is asked of data beside what it holds: the ranks may well agree in it.
ABOUT = frozenset(
    """shape size numel dim ndim dtype device layout requires_grad is_cuda stride grad grad_fn keys element_size
    names is_sparse nelement len() __class__ full_tensor""".split()
)


_ANSWERS = frozenset({"truth", "compared", "is"})
_KINDS = frozenset({"isinst", "hasattr", "dtensor"})


@record
class Own:
    """Each rank has another value, since it is made of ``words``.

    ``via`` are all objects on the way. ``draw``: the generator of random numbers that it comes from. ``elements``: that
    holds of what is in it. ``picked``: by a number that some of the ranks may share. ``doubt``: why the ranks may have
    the same. ``part``: each rank has its part of this tensor, which it takes on this ``path``.
    """

    words: str
    via: frozenset[Obj] = frozenset()
    when: Moment | None = None  # where that begins
    draw: str = ""
    elements: bool = False
    picked: bool = False
    doubt: str = ""
    part: Computed | None = None
    path: PathCondition = TRUE


def began(machine: AnyMachine, atom: AbstractObject, own: Own) -> None:
    machine.owned = True
    atom.know(replace(own, via=own.via | {atom.root}))


def passed_on(machine: AnyMachine, made: Obj, parts: Iterable[Value], *, doubt: str = "") -> None:
    """What is made of a rank's own values is its own. ``doubt``: why it may be the same all the same."""
    own = first(machine, parts) if machine.owned else None
    if own is not None and made.atom.state(Own) is None:
        began(machine, made.atom, replace(own, elements=False, doubt=own.doubt or doubt))


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


def first(machine: AnyMachine, values: Iterable[Value]) -> Own | None:
    return next((own for value in values if (own := own_of(machine, value)) is not None), None)


def own_of(machine: AnyMachine, value: Value) -> Own | None:
    """What makes a value another one on each rank; None where nothing is known that does."""
    if not machine.owned:
        return None
    if isinstance(value, Obj):
        return _of_object(machine, value)
    if isinstance(value, Cond):
        return first(machine, _in(value.formula))
    if isinstance(value, GuardedUnion):
        return first(machine, (leaf for _, leaf in value.options)) or chosen_by(machine, value)
    if isinstance(value, (TupleV, ListV)):
        return first(
            machine, (item for _, item in machine.listing(value).items if not isinstance(item, (TupleV, ListV)))
        )
    return None


def chosen_by(machine: AnyMachine, value: GuardedUnion) -> Own | None:
    """What of a rank's own decides which of several values it is."""
    asked = (atom for path, _ in machine.alternatives(value) for formula, _ in path.literals for atom in atoms(formula))
    return next((own for atom in asked if (own := asked_for(machine, atom)) is not None), None)


def asked_for(machine: AnyMachine, atom: Formula) -> Own | None:
    """What of a rank's own a condition asks for: what the value is, and not of which kind."""
    if isinstance(atom, bool) or atom[0] not in _ANSWERS or atom[0] == "is" and atom[2] is None or _of_kind(atom):
        return None
    return first(machine, _in(atom[1:]))


def _of_kind(atom: Formula) -> bool:
    """Does it ask which class, attributes or keys a value has, or for a batch as a whole?

    Those are the same in all batches of a data set.
    """
    asked = atom[1] if atom[0] == "truth" else None
    if isinstance(asked, Obj):
        own = asked.atom.state(Own)
        return (
            own is not None
            and own.elements
            and bool(asked.path)
            and is_each(asked.path[0])
            and all(map(_is_pick, asked.path[1:]))
        )
    if not isinstance(asked, tuple) or not asked:
        return False
    return asked[0] in _KINDS or asked[0] == "in" and isinstance(asked[1], Const) and isinstance(asked[1].value, str)


def _is_pick(item: Any) -> bool:
    return isinstance(item, tuple) and item[:1] == (PICK,)


def _of_object(machine: AnyMachine, obj: Obj) -> Own | None:
    if any(_name(item) in ABOUT for item in obj.path):
        return None
    own = obj.atom.state(Own)
    if own is not None:
        return own if not own.elements or any(map(is_each, obj.path)) else None
    if obj.atom.module:  # what a model makes of a batch
        given = (
            each for item in obj.path if isinstance(item, tuple) and item[:2] == ("()", "") for each in _in(item[2])
        )
        own = first(machine, given)
        return replace(own, via=own.via | set(_outputs(obj))) if own is not None else None
    return None


def _outputs(obj: Obj) -> Iterable[Obj]:
    """What the call of a model returned, and what was made of that."""
    for at in obj.above:
        yield at
        if isinstance(at.item, tuple) and at.item[:2] == ("()", ""):
            return


def is_on_the_way(own: Own, obj: Obj) -> bool:
    """Is it what the value was made of, or a part of that?"""
    return any(at in own.via for at in obj.above)


def _in(part: Any) -> Iterable[Obj]:
    if isinstance(part, Obj):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from _in(each)
    elif isinstance(part, GuardedUnion):
        for _, leaf in part.options:
            yield from _in(leaf)


def _name(item: Any) -> Any:
    return item[1] if is_call(item) else item
