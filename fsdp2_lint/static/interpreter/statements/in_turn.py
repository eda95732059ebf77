"""Loops that are never left early and put something in the place of each thing that they come to."""

from __future__ import annotations

from ...domain.choices import choose
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.store import Entries
from ...domain.values import Value
from ..machine import AnyMachine


def each_in_turn(machine: AnyMachine, key: Value) -> bool:
    """Does it stand for all that a loop, which is never left early, goes through?"""
    return any(_visited(machine, key, now.visits) for now in machine.rounds)


def replaced_in_turn(machine: AnyMachine, held: Entries, key: Value, value: Value, path: PathCondition) -> Entries:
    """A loop over a dict puts a value in the place of the one that it comes to."""

    def row(own: Value, there: PathCondition, old: Value) -> tuple[Value, PathCondition, Value]:
        if own is not key or value == machine.some_of(old):  # or it is put back
            return (own, there, old)
        return (own, there, value if path is TRUE else choose([(path, value), *machine.rest(path, old)]))

    return Entries(tuple(row(*each) for each in held.entries), held.open_why)


def _visited(machine: AnyMachine, key: Value, visits: Value | None) -> bool:
    return visits is not None and any(leaf is key for leaf in machine.inside(visits))
