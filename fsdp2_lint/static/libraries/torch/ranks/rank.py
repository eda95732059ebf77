"""Where ranks come from, and which conditions on them keep ranks apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .....vocab.finding import Site
from ....domain import events
from ....domain.path_conditions import TRUE, PathCondition
from ....domain.values import (
    NONE,
    AbstractObject,
    Computed,
    Cond,
    Const,
    DictV,
    Ext,
    ParamV,
    Rank,
    StateTensor,
    Text,
    Value,
    unknown,
)
from ....frontend.launchers import RANKS, WORLD_SIZE
from ....interpreter.call import Call
from ....interpreter.expressions import owning
from ....interpreter.expressions.numbers import some_number
from ...interface import Machine
from ...tables import external
from ..training import dtensors

GLOBAL, LOCAL = Rank("global"), Rank("local")
ENVIRONMENT: dict[str, Value] = {name: Rank(kind) for name, kind in RANKS.items()}
INITIALISED = ("truth", "a process group exists")


def environment(machine: Machine, key: Value, at: Site | None) -> Value:
    """``os.environ[key]``, read ``at``: a rank, what the program put there, or a setting that all ranks share."""
    if not (isinstance(key, Const) and isinstance(key.value, str)):
        return unknown("an environment variable", at, kind="opaque")  # it may be that of a rank
    known = ENVIRONMENT.get(key.value)
    if (stored := machine.store.get((Ext("os.environ"), key.value))) is not None:
        machine.reads += 1
    elif known is None and key.value not in machine.libraries.settings:
        machine.libraries.settings[key.value] = _setting(key.value)
    machine.libraries.launched |= known is not None and stored is None
    found = known or stored or machine.libraries.settings[key.value]
    return owning.number_of_rank(machine, replace(found, at=at)) if isinstance(found, Rank) else found


def _setting(name: str) -> Value:
    atom = AbstractObject("configuration", origin=f"environment variable {name}")
    atom.shared = True
    atom.counts = name == WORLD_SIZE  # a process that nobody launched as one of a job is alone: it counts as one
    return atom.root


@external("os.getenv", "os.environ.get", "os.environ.setdefault")
def getenv(machine: Machine, call: Call) -> Value:
    return environment(machine, call.arg(0, "key") or NONE, machine.site(call.node))


@external("os.environ.update")
def set_variables(machine: Machine, call: Call) -> Value:
    given = [*call.args, *([machine.new_dict({Const(name): value for name, value in call.kwargs.items()})])]
    for leaf in given:
        for key, path, value in machine.entries(leaf).entries if isinstance(leaf, DictV) else ():
            if isinstance(key, Const) and path is TRUE:
                machine.store.put((Ext("os.environ"), key.value), value)
    return NONE


@external("torch.distributed.get_rank", "torch.distributed.get_node_local_rank", "torch.cuda.current_device")
def get_rank(machine: Machine, call: Call) -> Value:
    name = call.name
    if not name.endswith("get_rank"):
        return owning.number_of_rank(machine, LOCAL)
    group = call.arg(0, "group")
    kind = "global" if group in (None, NONE) else "group"
    return owning.number_of_rank(machine, Rank(kind, machine.site(call.node)))


@external("torch.distributed.get_world_size")
def get_world_size(machine: Machine, call: Call) -> Value:
    """Of the whole job it is one number, which torchrun says in the environment too; of a group, another one."""
    if call.arg(0, "group") in (None, NONE) and machine.store.get((Ext("os.environ"), WORLD_SIZE)) is None:
        return environment(machine, Const(WORLD_SIZE), None)
    return some_number("the size of a process group")


def alone(machine: Machine, path: PathCondition) -> bool:
    """Does this path say that the job has one rank? Then there is no other that could stay away."""
    size = machine.libraries.settings.get(WORLD_SIZE)
    return size is not None and path.decide(("compared", size, ">=", 2)) is False


@external(
    "torch.distributed.is_initialized", "torch.distributed.is_available", "torch.distributed.is_torchelastic_launched"
)
def is_initialized(machine: Machine, call: Call) -> Value:
    """A script that was seen from its first line has no process group before it makes one; else there may be one."""
    if call.name.endswith(("is_available", "is_torchelastic_launched")):
        return Const(True)
    made = (
        next(machine.trace.of(events.ProcessGroup, events.Mesh, events.Sharded), None)
        if not call.name.endswith("launched")
        else None
    )
    if made is not None:
        return Const(True)
    alone = machine.whole and not machine.libraries.opaque and next(machine.trace.of(events.Managed), None) is None
    return Const(False) if alone and not call.name.endswith("launched") else Cond(INITIALISED)


CONVERTERS: dict[str, Callable[[Any], Any]] = {"int": int, "str": str, "float": float, "bool": bool, "abs": abs}


@external("builtins.int", "builtins.str", "builtins.float", "builtins.bool", "builtins.abs")
def convert(machine: Machine, call: Call) -> Value:
    """``int``, ``str`` and their kin: what is made of a rank, of a tensor, or of a setting."""
    name = call.name.rsplit(".", 1)[-1]

    def one(leaf: Value) -> Value:
        dtensors.value_read(machine, leaf, call.node, f"{name}()")
        if isinstance(leaf, Rank):
            return Text(True, "{}", leaf) if name == "str" else leaf
        if isinstance(leaf, Const):
            try:
                return Const(CONVERTERS[name](leaf.value))
            except (TypeError, ValueError, OverflowError):
                return some_number("a conversion that fails")
        if isinstance(leaf, (Text, Cond)):
            return leaf
        if isinstance(leaf, (Computed, ParamV, StateTensor)):
            return some_number("a number")
        if name == "bool":
            return machine.cond(machine.truth(leaf))
        return leaf if name in ("int", "float") else Text(machine.per_rank(leaf), of=machine.made_of(name, leaf))

    return machine.over(call.args[0], one) if call.args else Const(0)
