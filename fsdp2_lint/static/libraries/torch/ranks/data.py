"""Where batches come from: loaders, samplers, and numbers drawn at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....domain import events
from ....domain.values import NONE, Const, Obj, Value
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external, method

if TYPE_CHECKING:
    from astroid import nodes


_PROGRESS = ("tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.std.tqdm", "tqdm.notebook.tqdm", "rich.progress.track")


@external("torch.utils.data.DistributedSampler", "torch.utils.data.distributed.DistributedSampler")
def sampler(machine: Machine, call: Call) -> Value:
    made = machine.libraries.call_other(call.name, call)
    if isinstance(made, Obj):
        made.atom.facts["sampler"] = call.arg(3, "shuffle") or Const(not call.open_why or None)
        made.atom.facts["made"] = machine.emit(events.Sampler(), call.node, made)
    return made


@external("torch.utils.data.DataLoader", "torchdata.stateful_dataloader.StatefulDataLoader")
def loader(machine: Machine, call: Call) -> Value:
    made = machine.libraries.call_other(call.name, call)
    if isinstance(made, Obj):
        for position, name in enumerate(("dataset", "batch_size", "shuffle", "sampler", "batch_sampler")):
            value = call.arg(position, name)
            made.atom.facts[name] = value if value is not None else NONE
            if name in ("dataset", "sampler", "batch_sampler") and value not in (None, NONE):
                machine.store.put((made, name), value)
        made.atom.facts["collate_fn"] = call.arg(6, "collate_fn") or NONE
        made.atom.facts["generator"] = call.kwargs.get("generator", NONE)
        made.atom.facts["open"] = call.open_why
        made.atom.facts["loader"] = machine.emit(events.Loader(), call.node, made)
    return made


@external("torch.utils.data.TensorDataset")
def tensors(machine: Machine, call: Call) -> Value:
    made = machine.libraries.call_other(call.name, call)
    if isinstance(made, Obj):
        made.atom.facts["tensors"] = tuple(call.args)
    return made


@external(*_PROGRESS)
def progress(machine: Machine, call: Call) -> Value:
    """A progress bar yields what is in it."""
    inner = call.arg(0, "iterable") or call.arg(0, "sequence")
    made = machine.libraries.call_other(call.name, call)
    if inner not in (None, NONE) and isinstance(made, Obj):
        made.atom.facts["around"] = inner
    return made


def unwrapped(value: Value) -> Value:
    """What a progress bar is around; anything else is what it is."""
    while isinstance(value, Obj) and value.parent is None and "around" in value.atom.facts:
        value = value.atom.facts["around"]
    return value


def read(machine: Machine, value: Value, node: nodes.NodeNG) -> None:
    """A loop goes through a loader."""
    for _, leaf in machine.alternatives(unwrapped(value)):
        if isinstance(leaf, Obj) and leaf.parent is None and leaf.atom.facts.get("loader"):
            machine.emit(events.LoaderRead(), node, leaf)


@method("set_epoch")
def set_epoch(machine: Machine, obj: Obj, call: Call) -> Value:
    machine.emit(events.EpochSet(), call.node, obj)
    return NONE


@method("manual_seed")
def seeded_generator(machine: Machine, obj: Obj, call: Call) -> Value:
    """``torch.Generator().manual_seed(n)`` returns the generator."""
    if obj.parent is None and obj.atom.origin == "torch.Generator":
        before = obj.atom.facts.get("seeds", ())
        obj.atom.facts["seeds"] = (*before, call.arg(0, "seed") or NONE)
    return obj


@external("torch.randint", "torch.randn", "torch.rand", "torch.randperm")
def drawn(machine: Machine, call: Call) -> Value:
    made = machine.libraries.call_other(call.name, call)
    if isinstance(made, Obj):
        made.atom.facts["drawn by"] = call.kwargs.get("generator", NONE)
        made.atom.facts["drawn at"] = machine.now
    return made
