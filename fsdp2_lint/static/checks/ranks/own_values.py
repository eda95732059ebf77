"""Numbers that each rank computes for itself, of a batch that it alone has."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.finding import Place
from ...domain import events
from ...domain.values import NONE, Atom, Ext, Obj, Rank, Value, is_each
from ...interpreter.expressions.numbers import is_multiple
from ...libraries.torch.ranks.data import Drawn, Loader, Sampler, seeds_of
from ...libraries.torch.ranks.seeds import differs
from ...libraries.torch.training.losses import MadeOf
from ..shared.program import Program
from .data import of_rank

_DEEP = 64  # operations between a batch and what is made of it
# What leads from a tensor to another one, or to a number of its values; its size may be the same on all ranks.
_OF_VALUES = frozenset(
    """item tolist detach clone contiguous cpu cuda to float double half bfloat16 mean sum norm abs sqrt pow exp log
    view reshape flatten squeeze unsqueeze max min long int""".split()
)


def own_value(program: Program, value: Value) -> Place | str:
    """Where each rank's own part begins, which it is made of; else why that is not proved."""
    found: list[Place] = []
    for _, leaf in program.machine.alternatives(value):
        passed: dict[Atom, None] = {}
        places = list(_begins(program, leaf, passed, _DEEP))
        if not places:
            return "where it comes from was not followed"
        if why := _exchanged(program, passed):
            return why
        found.append(places[0])
    return found[0] if found else "where it comes from was not followed"


def _begins(program: Program, value: Value, passed: dict[Atom, None], depth: int) -> Iterator[Place]:
    """The loaders and generators that give each rank its own. ``passed``: all that the value is made of."""
    if not isinstance(value, Obj) or not depth or value.atom in passed:
        return
    passed[value.atom] = None
    if not all(map(_keeps_values, value.above)):
        return
    if (place := _source(program, value)) is not None:
        yield place
    for part in _parts(value):
        yield from _begins(program, part, passed, depth - 1)


def _keeps_values(at: Obj) -> bool:
    """Is it an element of the one before, or computed from its values, by torch and on this rank alone?"""
    item, before = at.item, at.parent
    if before is None:
        return True
    if isinstance(item, tuple) and item[0] == "()":
        return item[1] in _OF_VALUES or item[1] == "" and _is_layer(before)
    return is_multiple(item) or item == "data" or isinstance(item, str) and item.startswith("[")


def _is_layer(callee: Obj) -> bool:
    """One of torch's: what another one does with its input was not seen."""
    own = callee.atom.cls if callee.parent is None else None
    return isinstance(own, Ext) and own.qname.rpartition(".")[0] == "torch.nn"


def _parts(obj: Obj) -> Iterator[Value]:
    """What a value was computed of: the arguments of calls on its path, operands, arguments of a loss."""
    for item in obj.path:
        if isinstance(item, tuple) and item[:2] == ("()", "") and isinstance(item[2], tuple):
            yield from item[2]
    made = obj.atom.state(MadeOf)
    yield from made.values if made is not None else obj.atom.operands


def _source(program: Program, obj: Obj) -> Place | None:
    loader, drawn = obj.atom.state(Loader), obj.atom.state(Drawn)
    if loader is not None and obj.path and is_each(obj.path[0]):
        for leaf in program.machine.objects(loader.sampler):
            sampler = leaf.atom.state(Sampler)
            if sampler is not None and (sampler.rank == NONE or isinstance(sampler.rank, Rank)):
                return Place(sampler.made.when, "this sampler gives each rank its own part of the data")
        for leaf in program.machine.objects(loader.dataset):
            if any(of_rank(item) for item in leaf.path):
                return Place(loader.made.when, "this loader reads the rank's own part of the data")
    if drawn is not None and isinstance(drawn.by, Obj):
        if any(differs(program.machine, seed) for seed in seeds_of(drawn.by.atom)):
            return Place(drawn.made, "each rank draws this from a generator with a seed of its own")
    return None


def _exchanged(program: Program, passed: dict[Atom, None]) -> str:
    """Why the ranks may have brought it together on the way."""
    for step in program.trace.of(events.Collective):
        for value in step.what.given or ():
            if any(isinstance(leaf, Obj) and leaf.atom in passed for leaf in program.machine.inside(value)):
                return f"{step.what.name} ({step.when.at}) may bring together what the ranks have"
    who = next((atom.handed_to for atom in passed if atom.handed_to), "")
    return f"{who} had it in its hands, and was not followed" if who else ""
