"""Parameters that are one: ``head.weight = embed.weight``."""

from __future__ import annotations

from astroid import nodes

from ....domain import events
from ....domain.values import Obj, Value
from ...interface import Machine


def tied(machine: Machine, owner: Obj, value: Value, node: nodes.NodeNG) -> None:
    """From here on the weights of two layers are one parameter."""
    for leaf in machine.objects(value):
        if leaf.item == "weight" and leaf.parent is not None and leaf.parent is not owner:
            machine.emit(events.Tied(other=leaf.parent), node, owner)
