"""What a load puts into the containers that it is given, beside tensors: numbers and texts of the checkpoint."""

from __future__ import annotations

from collections.abc import Iterable

from ....domain.choices import choose, options
from ....domain.store import Entries, Items
from ....domain.values import Cond, Const, DictV, ListV, Text, Value, unknown
from ...interface import Machine


def take_loaded(machine: Machine, values: Iterable[Value], *, agreed: bool) -> None:
    """In dicts and lists each such value is another one from here on. ``agreed``: the same on all ranks."""
    for value in values:
        for leaf in list(machine.inside(value)):
            if isinstance(leaf, DictV):
                held = machine.entries(leaf)
                entries = tuple((key, path, _loaded(each, agreed)) for key, path, each in held.entries)
                machine.store.put(leaf.id, Entries(entries, held.open_why))
            elif isinstance(leaf, ListV):
                items = machine.items(leaf)
                inside = tuple((path, _loaded(each, agreed)) for path, each in items.items)
                machine.store.put(leaf.id, Items(inside, items.exact, items.open_why))


def _loaded(value: Value, agreed: bool) -> Value:
    leaves = options(value)
    if not any(isinstance(leaf, (Const, Cond, Text)) for _, leaf in leaves):
        return value
    made = unknown("a value of a checkpoint")
    made.atom.shared = made.atom.agreed = agreed
    return choose([(path, made if isinstance(leaf, (Const, Cond, Text)) else leaf) for path, leaf in leaves])
