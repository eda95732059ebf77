"""What values were computed of, one step back: by the path that was taken, an operator, a function, or unseen code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...vocab.declared import record
from ..domain.choices import options
from ..domain.values import Cond, Const, Obj, Rank, Text, Value, is_call
from .interface import Machine

UNSEEN = ""  # how unseen code made something of what it was given


@record
class Computation:
    """A function of torch, or of Python's own, made a value ``of`` these, constants left out.

    Which constant it was given, a condition among them says.
    """

    function: str
    of: tuple[Obj | Rank | Text | Cond, ...]


@record
class Plain:
    """A text, or what a method of one returned, perhaps on another rank: no module, and no tensor."""


def is_plain(value: Value) -> bool:
    """A constant, a text, or what was made of one."""
    return isinstance(value, (Const, Text)) or isinstance(value, Obj) and value.atom.state(Plain) is not None


@record
class Element:
    """One of what a loop goes through that code which was not followed has under this name."""

    of: str


def computed(machine: Machine, made: Value, function: str, given: Iterable[Value]) -> None:
    values = list(given)
    leaves = [leaf for value in values for leaf in machine.inside(value)]
    leaves += [Cond(path.formula) for value in values for path, _ in options(value) if path.literals]
    of = tuple(dict.fromkeys(leaf for leaf in leaves if isinstance(leaf, (Obj, Rank, Text, Cond))))
    if of and isinstance(made, Obj) and made.parent is None:
        made.atom.know(Computation(function, of))


def ingredients(machine: Machine, obj: Obj) -> Iterator[tuple[str, Obj]]:
    """What it was made of, and how: the name of a method, an attribute or a function, an operator, or UNSEEN."""
    if obj.parent is not None:
        item = obj.item
        how = item if isinstance(item, str) else str(item[1])
        yield how, obj.parent
        if is_call(item) and len(item) > 2 and isinstance(item[2], tuple):
            yield from ((how, each) for each in _objects(machine, item[2]))
        return
    atom = obj.atom
    if atom.left_of is not None or atom.operands:
        how = atom.left_of[0] if atom.left_of is not None else "operator"
        yield from ((how, each) for each in _objects(machine, atom.operands))
    if (known := atom.state(Computation)) is not None:
        yield from ((known.function, each) for each in known.of if isinstance(each, Obj))
    yield from ((UNSEEN, each) for each in _objects(machine, atom.keeps))


def _objects(machine: Machine, values: Iterable[Value]) -> Iterator[Obj]:
    for value in values:
        yield from (leaf for leaf in machine.inside(value) if isinstance(leaf, Obj))
