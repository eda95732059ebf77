"""Where batches come from: loaders, samplers, and numbers drawn at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..values import NONE, Const, ListV, Obj, TupleV, Value
from .tables import external, method

if TYPE_CHECKING:
    from astroid import nodes

    from ..interp.call import Call
    from ..interp.interpreter import Interpreter

_PROGRESS = ("tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.std.tqdm", "tqdm.notebook.tqdm", "rich.progress.track")


@external("torch.utils.data.DistributedSampler", "torch.utils.data.distributed.DistributedSampler")
def sampler(machine: Interpreter, call: Call) -> Value:
    made = machine.call_other(machine.called_name, call)
    if isinstance(made, Obj):
        made.atom.facts["sampler"] = call.arg(3, "shuffle") or Const(not call.open_why or None)
        made.atom.facts["made"] = machine.emit("sampler", call.node, made)
    return made


@external("torch.utils.data.DataLoader", "torchdata.stateful_dataloader.StatefulDataLoader")
def loader(machine: Interpreter, call: Call) -> Value:
    made = machine.call_other(machine.called_name, call)
    if isinstance(made, Obj):
        for position, name in enumerate(("dataset", "batch_size", "shuffle", "sampler", "batch_sampler")):
            value = call.arg(position, name)
            made.atom.facts[name] = value if value is not None else NONE
            if name in ("dataset", "sampler", "batch_sampler") and value not in (None, NONE):
                machine.store.put((made, name), value)
        made.atom.facts["generator"] = call.kwargs.get("generator", NONE)
        made.atom.facts["open"] = call.open_why
        made.atom.facts["loader"] = machine.emit("loader", call.node, made)
    return made


@external("torch.utils.data.TensorDataset")
def tensors(machine: Interpreter, call: Call) -> Value:
    made = machine.call_other(machine.called_name, call)
    if isinstance(made, Obj):
        made.atom.facts["tensors"] = tuple(call.args)
    return made


@external(*_PROGRESS)
def progress(machine: Interpreter, call: Call) -> Value:
    """A progress bar around a loader, a list or a container yields what that yields."""
    inner = call.arg(0, "iterable") or call.arg(0, "sequence")
    found = machine.alternatives(inner) if inner is not None else []
    if inner is not None and any(isinstance(leaf, Obj) and leaf.atom.facts.get("loader") for _, leaf in found):
        return inner
    if inner is not None and all(_is_listed(machine, leaf) for _, leaf in found):
        held = machine.listing(inner)
        made = ListV(machine.fresh())
        machine.store.put(made.id, held, local=True)
        return made
    return machine.call_other(machine.called_name, call)


def _is_listed(machine: Interpreter, leaf: Value) -> bool:
    """Is it known what a loop over this goes through?"""
    if isinstance(leaf, Obj):
        return bool(leaf.atom.facts.get("module"))
    return isinstance(leaf, (ListV, TupleV))


def read(machine: Interpreter, value: Value, node: nodes.NodeNG) -> None:
    """A loop goes through a loader."""
    for _, leaf in machine.alternatives(value):
        if isinstance(leaf, Obj) and leaf.parent is None and leaf.atom.facts.get("loader"):
            machine.emit("loader_read", node, leaf)


@method("set_epoch")
def set_epoch(machine: Interpreter, obj: Obj, call: Call) -> Value:
    machine.emit("epoch_set", call.node, obj)
    return NONE


@method("manual_seed")
def seeded_generator(machine: Interpreter, obj: Obj, call: Call) -> Value:
    """``torch.Generator().manual_seed(n)`` returns the generator."""
    if obj.parent is None and obj.atom.origin == "torch.Generator":
        before = obj.atom.facts.get("seeds", ())
        obj.atom.facts["seeds"] = (*before, call.arg(0, "seed") or NONE)
    return obj


@external("torch.randint", "torch.randn", "torch.rand", "torch.randperm")
def drawn(machine: Interpreter, call: Call) -> Value:
    made = machine.call_other(machine.called_name, call)
    if isinstance(made, Obj):
        made.atom.facts["drawn by"] = call.kwargs.get("generator", NONE)
        made.atom.facts["drawn at"] = machine.now
    return made
