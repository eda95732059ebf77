"""Hooks of an optimizer: what runs before and after each of its steps."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from astroid import nodes

from .....vocab.declared import record
from ....domain.values import NONE, Obj, TupleV, Value, unknown
from ....interpreter.call import Call
from ...interface import Machine

BEFORE, AFTER = "[step_pre_hooks]", "[step_post_hooks]"  # under which they are kept: no attribute is called so
REGISTERS: Mapping[str, str] = MappingProxyType({"register_step_pre_hook": BEFORE, "register_step_post_hook": AFTER})


@record
class Handle:
    """What a registration returns: ``remove()`` takes the ``hook`` away from what ``optimizer`` runs there."""

    optimizer: Obj
    where: str
    hook: Value


def registered(machine: Machine, optimizer: Obj, name: str, call: Call) -> Value:
    handle = unknown("the handle of a hook")
    if (hook := call.arg(0, "hook")) is not None:
        where = REGISTERS[name]
        handle.atom.know(Handle(optimizer, where, hook))
        machine.store.put((optimizer, where), TupleV((*_kept(machine, optimizer, where), hook)))
        machine.libraries.hooks[hook] = machine.guard, Call(call.node, [hook])
    return handle


def removed(machine: Machine, handle: Handle) -> Value:
    machine.libraries.hooks.pop(handle.hook, None)
    left = tuple(hook for hook in _kept(machine, handle.optimizer, handle.where) if hook != handle.hook)
    machine.store.put((handle.optimizer, handle.where), TupleV(left))
    return NONE


def run(machine: Machine, optimizer: Obj, where: str, node: nodes.NodeNG) -> None:
    """``hook(optimizer, args, kwargs)``, of each in the order in which they were registered."""
    for path, kept in machine.alternatives(machine.store.get((optimizer, where)) or NONE):
        joined = machine.guard.join(path)
        if isinstance(kept, TupleV) and joined is not None:
            with machine.on_path(joined):
                for hook in kept.items:
                    machine.libraries.hooks.pop(hook, None)
                    machine.call(hook, Call(node, [optimizer, TupleV(()), machine.new_dict({})]))


def never_run(machine: Machine) -> None:
    """Whoever makes the steps was not followed: then nobody knows when they run."""
    for path, call in list(machine.libraries.hooks.values()):
        with machine.on_path(path):
            machine.libraries.callbacks(call)


def _kept(machine: Machine, optimizer: Obj, where: str) -> tuple[Value, ...]:
    """On all paths together: one that is there on some only runs on those where it was registered."""
    kept = machine.store.get((optimizer, where)) or NONE
    return tuple(
        dict.fromkeys(hook for _, leaf in machine.alternatives(kept) if isinstance(leaf, TupleV) for hook in leaf.items)
    )
