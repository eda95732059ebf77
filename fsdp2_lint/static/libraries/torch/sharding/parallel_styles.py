"""Styles of tensor parallelism: which of them need one input on all their ranks."""

from __future__ import annotations

from .....vocab.declared import record
from ....domain.values import NONE, Const, DictV, Obj, TupleV, Value
from ....frontend.torch_api import canonical
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external

_TP = "torch.distributed.tensor.parallel."
SPLIT = {_TP + name for name in ("ColwiseParallel", "RowwiseParallel")}
LEAVE_ALONE = {_TP + name for name in ("PrepareModuleInput", "PrepareModuleOutput", "PrepareModuleInputOutput")}
_STYLES = (*sorted(SPLIT | LEAVE_ALONE), _TP + "SequenceParallel")
_SHARD, _REPLICATE = "torch.distributed.tensor.Shard", "torch.distributed.tensor.Replicate"


@record
class Given:
    """What a style, or a placement, was made with."""

    values: tuple[Value, ...]
    known: bool


@external(*_STYLES, _SHARD, _REPLICATE)
def made(machine: Machine, call: Call) -> Value:
    found = machine.libraries.call_other(call.name, call)
    if isinstance(found, Obj):
        found.atom.know(Given(tuple(call.all), not call.open_why))
    return found


def needs_one_input(machine: Machine, plan: Value) -> bool:
    """Does a plan split layers of torch, and take no inputs that are cut over the batch?"""
    styles: list[Value] = []
    for _, leaf in machine.alternatives(plan):
        held = machine.entries(leaf) if isinstance(leaf, DictV) else None
        if held is not None and held.open_why:
            return False
        styles += [style for _, _, style in held.entries] if held is not None else [leaf]
    leaves = [leaf for style in styles for leaf in machine.inside(style)]
    return any(_name(leaf) in SPLIT for leaf in leaves) and all(_no_batch_cut(machine, leaf) for leaf in leaves)


def _no_batch_cut(machine: Machine, leaf: Value) -> bool:
    if isinstance(leaf, Const):
        return leaf == NONE or isinstance(leaf.value, bool)
    if isinstance(leaf, (DictV, TupleV)):
        return not machine.more_inside(leaf)
    given = leaf.atom.state(Given) if isinstance(leaf, Obj) and leaf.parent is None else None
    if given is None or not given.known:
        return False
    if _name(leaf) == _SHARD:
        return len(given.values) == 1 and isinstance(given.values[0], Const) and given.values[0].value in (1, 2, -1)
    parts = [part for value in given.values for part in machine.inside(value)]
    return all(_no_batch_cut(machine, part) for part in parts)


def _name(leaf: Value) -> str:
    return canonical(leaf.atom.origin) if isinstance(leaf, Obj) and leaf.parent is None else ""
