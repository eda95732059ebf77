"""Values that are the same on all ranks: written out, said by settings, or counted by all of them."""

from __future__ import annotations

from collections.abc import Iterable

from ...domain.formulas import Interned, atoms, is_dropped
from ...domain.values import NONE, SOME, Cond, Ext, Obj, Text, TupleV, Value, is_call, is_each
from ...interpreter.expressions.numbers import is_multiple
from ...interpreter.expressions.own_values import KIND, RANGE, own_of
from ...libraries.computed import Computation
from ...libraries.torch.ranks.data import Loader, Sampler, TensorData
from ..shared.conditions import objects_in
from ..shared.program import Program
from .data_sources import origin_known

_WRITTEN = frozenset(f"torch.{name}" for name in "tensor as_tensor zeros ones full arange eye linspace".split())
_OF_SEVERAL = frozenset({"builtins.sum", "builtins.max", "builtins.min", "math.prod", "math.fsum"})
_CALCULATES = frozenset(dir(str)) | frozenset("item tolist any all sum mean max min is_integer".split())


def same_on_all_ranks(program: Program, value: Value, *, settings: bool = False) -> bool:
    """False also where that is not known. ``settings``: what is read from a result of unseen code is taken for one."""
    return _Alike(program, settings).all(value)


class _Alike:
    """What a loop carries on is the same in each round if a round makes the same of the same."""

    def __init__(self, program: Program, settings: bool) -> None:
        self._program = program
        self._settings = settings
        self._machine = program.machine
        self._carried: set[Obj] = set()  # of which that is just asked

    def all(self, value: Value) -> bool:
        found = self._machine.alternatives(value)
        kept = not any(is_dropped(atom) for path, _ in found for each, _ in path.literals for atom in atoms(each))
        return kept and all(self._one(leaf) for _, leaf in found)

    def _one(self, leaf: Value) -> bool:
        machine = self._machine
        if machine.per_rank(leaf) is False or isinstance(leaf, Obj) and machine.is_setting(leaf, launched=True):
            return True
        if isinstance(leaf, Text) and leaf.of and not leaf.per_rank:
            return all(map(self.all, machine.text_parts[leaf.of - 1][1]))
        if isinstance(leaf, TupleV):
            return all(map(self.all, leaf.items))
        if isinstance(leaf, Obj) and (counted := _length_of(leaf)) is not None:
            return _as_many(self._program, counted)
        if isinstance(leaf, Cond):
            return not machine.about_rank(leaf.formula) and self._asked(atoms(leaf.formula))
        if not isinstance(leaf, Obj) or own_of(machine, leaf) is not None:
            return False
        if leaf.atom.kind == "opaque":
            read = leaf.parent is not None and not any(is_each(item) or item == SOME for item in leaf.path)
            return self._settings and read
        at = leaf
        while at.parent is not None and self._is_calculated(at.item):
            at = at.parent
        return at is not leaf and machine.per_rank(at) is False or self._begun(at)

    def _begun(self, at: Obj) -> bool:
        machine, atom = self._machine, at.atom
        if at in machine.carried:
            if at in self._carried:
                return True
            self._carried.add(at)
            return all(map(self._at_any_time, machine.carried[at])) and f".{at.item}" not in machine.counted_apart
        if atom.origin == RANGE and at.parent in (None, atom.root):
            return True
        if atom.counter and at.parent is None:
            return atom.counter not in machine.counted_apart
        if at.parent is None and atom.origin in _WRITTEN and not atom.keeps and atom.state(Computation) is None:
            return True  # of constants alone
        if at.parent is not None and (given := machine.store.get((at.parent, SOME))) is not None:
            return at.item == SOME or self.all(given)  # by whoever sets fields by names that a file says
        computation = atom.state(Computation)
        of = computation.of if computation is not None else atom.operands or atom.keeps
        if computation is not None and computation.function in _OF_SEVERAL and any(map(_is_any, of)):
            return False  # of how many, a rank may decide itself
        return at.parent is None and bool(of) and not atom.per_rank and all(map(self.all, of))

    def _at_any_time(self, value: Value) -> bool:
        """Also by which of several it is: what a rank decides in a round alone, it has in the next one."""
        paths = [path for path, _ in self._machine.alternatives(value)]
        return self.all(value) and self._asked(
            atom for path in paths for each, _ in path.literals for atom in atoms(each)
        )

    def _asked(self, asked: Iterable[Interned]) -> bool:
        objects = dict.fromkeys(obj for atom in asked for obj in objects_in(atom))
        return all(is_asked_of_kind(obj) or self.all(obj) for obj in objects)

    def _is_calculated(self, item: object) -> bool:
        """Is it computed of what it is a child of, and of nothing that a rank has for itself?"""
        if is_call(item):
            given = item[2] if len(item) > 2 else ()
            return item[1] in _CALCULATES and isinstance(given, tuple) and all(map(self.all, given))
        return isinstance(item, tuple) and item[:1] == ("op",)


def is_asked_of_kind(obj: Obj) -> bool:
    """Is it how a thing is built, or in which mode a module is, rather than what data it holds?"""
    return (
        any(name in KIND for name in (obj.atom.origin, *obj.path)) or obj.item == "training" and bool(obj.atom.module)
    )


def _is_any(value: Value) -> bool:
    """Does it stand for any element of some data?"""
    return isinstance(value, Obj) and any(map(is_each, value.path))


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
            isinstance(leaf, Ext) or isinstance(leaf, Obj) and _as_many(program, leaf) for leaf in lengths
        )
    if data is not None and counted.parent is None:
        return any(_sized(tensor) or not origin_known(program, tensor) for tensor in data.tensors)
    return not origin_known(program, counted)


def _sized(tensor: Value) -> bool:
    """Does the source say how large it is? As the first dimension of all tensors of a data set is one, it counts."""
    return isinstance(tensor, Obj) and tensor.parent is None and tensor.atom.tensor_size is not None
