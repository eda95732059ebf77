"""Where batches come from: loaders, samplers, and numbers drawn at random."""

from __future__ import annotations

from astroid import nodes

from .....vocab.declared import record
from .....vocab.finding import Moment
from ....domain import events
from ....domain.events import Step
from ....domain.values import NONE, AbstractObject, Const, Obj, Rank, Value, unknown
from ....interpreter.call import Call
from ....interpreter.expressions import own_values, owning
from ....interpreter.expressions.own_values import Own
from ....interpreter.syntax import class_body
from ...interface import Machine
from ...tables import external, method
from . import own_sources
from .dealing import deals_by_rank
from .seeds import Drawn, differs

_PROGRESS = ("tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.std.tqdm", "tqdm.notebook.tqdm", "rich.progress.track")
_ARGUMENTS = {
    "dataset": 0,
    "batch_size": 1,
    "shuffle": 2,
    "sampler": 3,
    "batch_sampler": 4,
    "collate_fn": 6,
    "drop_last": 8,
}


@record
class Sampler:
    """Which rank gets which items of a data set. What is not given is NONE; ``shuffle`` is True then."""

    shuffle: Value
    replicas: Value
    rank: Value
    seed: Value
    made: Step[events.Sampler]
    by_rank: bool  # each rank surely has its own part
    drop_last: Value


@record
class Loader:
    """What makes batches of a data set, and how; NONE for what it is not given."""

    dataset: Value
    batch_size: Value
    shuffle: Value
    sampler: Value
    batch_sampler: Value
    collate_fn: Value
    drop_last: Value
    generator: Value
    open_why: str
    made: Step[events.Loader]


@record
class TensorData:
    """A data set of tensors."""

    tensors: tuple[Value, ...]


@record
class Chosen:
    """Some samples of a data set, by their numbers."""

    indices: Value


@record
class Progress:
    """A progress bar around what a loop goes through, or a stretch of it."""

    around: Value


@record
class Generator:
    """The seeds that a generator of random numbers was given, in order."""

    seeds: tuple[Value, ...]


@record
class Picked:
    """Samples are taken out of it by numbers that were drawn. ``by_rank``: may an index say more, such as a rank?"""

    draws: tuple[AbstractObject, ...]
    by_rank: bool


SAMPLERS = ("torch.utils.data.DistributedSampler", "torch.utils.data.distributed.DistributedSampler")
_OVERRIDDEN = frozenset("__init__ __iter__ __len__ state_dict load_state_dict".split())
_INPUTS = frozenset("epoch seed rank num_replicas shuffle num_samples total_size".split())


@external(*SAMPLERS)
def sampler(machine: Machine, call: Call) -> Value:
    made = machine.libraries.call_other(call.name, call)
    _deals(machine, made, call)
    return made


def inherited(machine: Machine, obj: Obj, call: Call) -> None:
    """A sampler of a class of the project deals out as its base does, where all that it adds begins with that."""
    for cls in machine.project_classes(obj):
        methods = {name: node for name, node in class_body(cls.node).items() if isinstance(node, nodes.FunctionDef)}
        written = {each.attrname for node in methods.values() for each in node.nodes_of_class(nodes.AssignAttr)}
        dealing = methods.get("__iter__")
        if not methods.keys() <= _OVERRIDDEN or written & _INPUTS or dealing is not None and not _asks_base(dealing):
            return
    _deals(machine, obj, call)


def _asks_base(method: nodes.FunctionDef) -> bool:
    """Does it go through what the method of its base yields?"""
    asked = (each for each in method.nodes_of_class(nodes.Attribute) if each.attrname == method.name)
    return any(isinstance(each.expr, nodes.Call) and each.expr.func.as_string() == "super" for each in asked)


def _deals(machine: Machine, made: Value, call: Call) -> None:
    if isinstance(made, Obj):
        shuffle = call.arg(3, "shuffle") or Const(not call.open_why or None)
        places = ((1, "num_replicas"), (2, "rank"), (4, "seed"), (5, "drop_last"))
        replicas, rank, seed, drop_last = (call.arg(*place) or _left_out(call) for place in places)
        by_rank = not call.open_why and replicas != Const(1) and (rank == NONE or isinstance(rank, Rank))
        step = machine.emit(events.Sampler(), call.node, made)
        made.atom.know(Sampler(shuffle, replicas, rank, seed, step, by_rank, drop_last))


def _left_out(call: Call) -> Value:
    return unknown("an argument that was not followed") if call.open_why else NONE


@external("torch.utils.data.DataLoader", "torchdata.stateful_dataloader.StatefulDataLoader")
def loader(machine: Machine, call: Call) -> Value:
    """A loader. What it gives is the rank's own where a sampler that is known to deal out by rank is surely in it."""
    made = machine.libraries.call_other(call.name, call)
    if isinstance(made, Obj):
        given = {name: call.arg(position, name) or NONE for name, position in _ARGUMENTS.items()}
        for name in ("dataset", "sampler", "batch_sampler"):
            if given[name] != NONE:
                machine.store.put((made, name), given[name])
        given["generator"] = call.kwargs.get("generator", NONE)
        step = machine.emit(events.Loader(), call.node, made)
        made.atom.know(Loader(**given, open_why=call.open_why, made=step))
        for name in ("sampler", "batch_sampler", "dataset"):
            if when := _dealt(machine, given[name], machine.moment(call.node)):
                own_sources.part_of_data(machine, made.atom, when)
                break
    return made


def _dealt(machine: Machine, given: Value, here: Moment) -> Moment | None:
    """Where it is decided that each rank surely has its own part of what a loader is given; None if it may not be."""
    whens = []
    for leaf in machine.objects(given):
        known = leaf.atom.state(Sampler)
        if known is not None and known.by_rank:
            whens.append(known.made.when)
        elif known is None and (deals_by_rank(machine, leaf) or _chosen_by_rank(machine, leaf)):
            whens.append(here)
        else:
            return None
    return whens[0] if whens else None


def _chosen_by_rank(machine: Machine, data: Obj) -> bool:
    """``Subset(data, order[rank::world])``: the part of an order is the rank's own."""
    chosen = data.atom.state(Chosen)
    own = own_values.first(machine, [chosen.indices]) if chosen is not None else None
    return own is not None and not own.draw and not own.doubt


@external("torch.utils.data.Subset")
def subset(machine: Machine, call: Call) -> Value:
    made = machine.libraries.call_other(call.name, call)
    if isinstance(made, Obj):
        made.atom.know(Chosen(call.arg(1, "indices") or NONE))
    return made


@external("torch.utils.data.TensorDataset")
def tensors(machine: Machine, call: Call) -> Value:
    made = machine.libraries.call_other(call.name, call)
    if isinstance(made, Obj):
        made.atom.know(TensorData(tuple(call.args)))
    return made


@external(*_PROGRESS, "itertools.islice")
def progress(machine: Machine, call: Call) -> Value:
    """A progress bar yields what is in it; ``islice`` yields some of that."""
    inner = call.arg(0, "iterable") or call.arg(0, "sequence")
    made = machine.libraries.call_other(call.name, call)
    if inner is not None and any(map(owning.of_rank, call.args[1:])) and owning.is_data(inner):  # from the rank on
        return owning.part_of_rank(machine, inner, call.args[1:], machine.moment(call.node))
    if inner not in (None, NONE) and isinstance(made, Obj):
        made.atom.know(Progress(inner))
    return made


def unwrapped(value: Value) -> Value:
    """What a progress bar is around, or a stretch a part of; anything else is what it is."""
    while isinstance(value, Obj) and value.parent is None and (bar := value.atom.state(Progress)) is not None:
        value = bar.around
    return value


def read(machine: Machine, value: Value, node: nodes.NodeNG) -> None:
    """A loop goes through a loader."""
    for leaf in machine.objects(unwrapped(value)):
        if leaf.parent is None and leaf.atom.state(Loader) is not None:
            machine.emit(events.LoaderRead(), node, leaf)


@method("set_epoch")
def set_epoch(machine: Machine, obj: Obj, call: Call) -> Value:
    machine.emit(events.EpochSet(epoch=call.arg(0, "epoch") or NONE), call.node, obj)
    return NONE


@method("manual_seed")
def seeded_generator(machine: Machine, obj: Obj, call: Call) -> Value:
    """``torch.Generator().manual_seed(n)`` returns the generator."""
    if obj.parent is None and obj.atom.origin == "torch.Generator":
        obj.atom.know(Generator((*seeds_of(obj.atom), call.arg(0, "seed") or NONE)))
    return obj


def seeds_of(generator: AbstractObject) -> tuple[Value, ...]:
    """In order; none where it was given none."""
    known = generator.state(Generator)
    return known.seeds if known is not None else ()


def _is_common(machine: Machine, by: Value, seeds: list[Value]) -> bool:
    """Is it surely in the same state on all ranks? Each new one of torch is, until it is seeded."""
    made = [leaf for _, leaf in machine.alternatives(by)]
    own = all(isinstance(leaf, Obj) and leaf.parent is None and leaf.atom.origin == "torch.Generator" for leaf in made)
    return own and all(differs(machine, seed) is False for seed in seeds)


def picked_by(machine: Machine, part: Value, indices: list[Value]) -> None:
    """Something is taken out of data: by numbers that were drawn, and perhaps by what is not known?"""
    leaves = [leaf for index in indices for leaf in machine.inside(index)]
    draws = [leaf.atom for leaf in leaves if isinstance(leaf, Obj) and leaf.atom.state(Drawn) is not None]
    if not draws:
        return
    by_rank = not all(map(_is_drawn, leaves))
    for leaf in machine.objects(part):
        known = leaf.atom.state(Picked) or Picked((), False)
        leaf.atom.know(Picked(tuple(dict.fromkeys((*known.draws, *draws))), known.by_rank or by_rank))


def shared_out(machine: Machine, part: Value, node: nodes.NodeNG) -> None:
    """``torch.randperm(n, generator=g)[rank::world]``: the ranks share an order, if all have drawn the same one."""
    for leaf in machine.objects(part):
        order = leaf.atom.operands[0] if leaf.atom.origin == owning.PART and leaf.atom.operands else None
        drawn = order.atom.state(Drawn) if isinstance(order, Obj) and order.atom.origin == "torch.randperm" else None
        own = order.atom.state(Own) if isinstance(order, Obj) else None
        if drawn is not None and own is not None and not own.doubt:
            machine.emit(events.OrderShared(drawn=drawn.made, generator=own.draw), node)


def _is_drawn(leaf: Value) -> bool:
    """Is it made of nothing but drawn numbers and constants?"""
    if not isinstance(leaf, Obj):
        return isinstance(leaf, Const)
    return leaf.atom.state(Drawn) is not None or bool(leaf.atom.operands) and all(map(_is_drawn, leaf.atom.operands))


@external(*(f"torch.{name}" for name in "rand randint randn randperm bernoulli multinomial normal".split()))
def drawn(machine: Machine, call: Call) -> Value:
    made = machine.libraries.call_other(call.name, call)
    if isinstance(made, Obj):
        by = call.kwargs.get("generator", NONE)
        made.atom.know(Drawn(by, machine.now, machine.moment(call.node)))
        seeds = [seed for obj in machine.objects(by) for seed in seeds_of(obj.atom)[-1:]]
        if any(differs(machine, seed) for seed in seeds):
            own_sources.drawn_for_rank(machine, made.atom, machine.moment(call.node))
        elif own := own_values.first(machine, seeds):
            owning.began(machine, made.atom, own)
        elif by != NONE and not _is_common(machine, by, seeds):
            doubt = f"whether all ranks seed the generator of {machine.moment(call.node).at} alike is not known"
            owning.began(machine, made.atom, Own("numbers of a generator", when=machine.moment(call.node), doubt=doubt))
    return made
