"""Values that are the same on all ranks: written out, said by settings, or counted by all of them."""

from __future__ import annotations

from ...domain.values import NONE, Obj, Text, Value
from ...interpreter.expressions.numbers import is_multiple
from ...interpreter.expressions.own_values import own_of
from ...libraries.torch.ranks.data import Loader, Sampler, TensorData
from ..shared.program import Program
from .data_sources import origin_known


def same_on_all_ranks(program: Program, value: Value) -> bool:
    """False also where that is not known."""
    return all(_same(program, leaf) for _, leaf in program.machine.alternatives(value))


def _same(program: Program, leaf: Value) -> bool:
    machine = program.machine
    if machine.per_rank(leaf) is False:
        return True
    if isinstance(leaf, Text) and leaf.of and not leaf.per_rank:
        return all(same_on_all_ranks(program, part) for part in machine.text_parts[leaf.of - 1][1])
    if isinstance(leaf, Obj) and (counted := _length_of(leaf)) is not None:
        return _as_many(program, counted)
    if (
        not isinstance(leaf, Obj)
        or own_of(machine, leaf) is not None
        or not all(map(is_multiple, leaf.path[_first(leaf) :]))
    ):
        return False
    atom = leaf.atom
    if atom.counter:
        return atom.counter not in machine.counted_apart
    if atom.operands:
        return not atom.per_rank and all(same_on_all_ranks(program, part) for part in atom.operands)
    return atom.origin == "range"


def _first(obj: Obj) -> int:
    """How much of its path is the round of a loop over numbers."""
    return 1 if obj.atom.origin == "range" else 0


def _length_of(obj: Obj) -> Obj | None:
    """Of what this is the length, or a multiple of that."""
    at = obj
    while at.parent is not None and is_multiple(at.item):
        at = at.parent
    return at.parent if at.item == "len()" else None


def _as_many(program: Program, counted: Obj) -> bool:
    """Has this as many elements on each rank? torch's sampler deals out as many to each, if all deal out the same."""
    loader, data = counted.atom.state(Loader), counted.atom.state(TensorData)
    if loader is not None and counted.parent is None:
        sampler = loader.sampler.atom.state(Sampler) if isinstance(loader.sampler, Obj) else None
        if loader.batch_sampler != NONE or loader.open_why or sampler is None and loader.sampler != NONE:
            return False
        given = [loader.batch_size, loader.drop_last]
        if sampler is not None:
            given += [sampler.replicas, sampler.drop_last]
        lengths = [leaf for _, leaf in program.machine.alternatives(loader.dataset)]
        return all(same_on_all_ranks(program, value) for value in given) and all(
            isinstance(leaf, Obj) and _as_many(program, leaf) for leaf in lengths
        )
    if data is not None and counted.parent is None:
        return any(_sized(tensor) or not origin_known(program, tensor) for tensor in data.tensors)
    return not origin_known(program, counted)


def _sized(tensor: Value) -> bool:
    """Does the source say how large it is? As the first dimension of all tensors of a data set is one, it counts."""
    return isinstance(tensor, Obj) and tensor.parent is None and tensor.atom.tensor_size is not None
