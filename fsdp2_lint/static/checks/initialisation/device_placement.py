"""Where the parameters of a model lie: moved to a GPU before sharding, or offloaded to the CPU after it."""

from __future__ import annotations

from types import NoneType
from typing import Any

from ....vocab.answers import Answer, unknown, yes
from ....vocab.declared import record
from ....vocab.events.sharding import MovedWhole
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.path_conditions import PathCondition
from ...domain.relations import Relation
from ...domain.says import Says
from ...domain.values import Const, Ext, Obj, is_each
from ...libraries.torch.ranks.rank import alone
from ..shared.program import OfStep, Program
from ..shared.structure import leaves, size, sized_by, stands_alone

POLICY = "torch.distributed.fsdp.CPUOffloadPolicy"
GIB = 2**30
_OF_GPUS = frozenset({"nccl", "cuda:nccl"})
MOST_LAYERS = 1000  # more blocks has no model
BYTES = 4  # of a parameter as modules are built


@record
class StaticOffload:
    """The policy of one group, on a path on which it is ``CPUOffloadPolicy``."""

    program: Program
    path: PathCondition
    step: Step[events.Sharded]

    def without_cpu_backend(self) -> Answer[Place]:
        """Has the group no backend for what is offloaded and clipped? Unknown where it is a setting, or not seen."""
        made = [
            step
            for step in self.program.trace.of(events.ProcessGroup)
            if step.precedes(self.step) and step.guard.compatible(self.path)
        ]
        if not made:
            return unknown("where the process group is made was not seen")
        if not self._clipped():
            return unknown("no clipping of gradients that lie on the CPU was seen")
        leaves = [(step, leaf) for step in made for leaf in self._backends(step)]
        if not all(isinstance(leaf, Const) and isinstance(leaf.value, (str, NoneType)) for _, leaf in leaves):
            return unknown("the backend of the process group is a setting")
        gpus_only = [step for step, leaf in leaves if leaf.value and set(leaf.value.lower().split(",")) <= _OF_GPUS]
        if not gpus_only:
            return self.program.excluded("the process group has a backend for CPU tensors")
        if len(gpus_only) < len(leaves):
            return unknown("which backend the process group has depends on the path")
        return yes(Place(made[0].when, "NCCL"))

    def _clipped(self) -> bool:
        """By torch, which reduces the norm where the gradients lie. Without that, programs find ways around it."""
        return any(
            clip.guard.compatible(self.path)
            and any(self.program.related(held.model, part) for held in clip.what.held for part in self.step.what.group)
            for clip in self.program.trace.of(events.Clipped)
        )

    def _backends(self, step: Step[events.ProcessGroup]) -> list[Any]:
        with self.program.machine.on_path(self.path):
            given = step.what.backend if step.what.backend is not None else Const(None)
            return [leaf for _, leaf in self.program.machine.alternatives(given)]


def offloaded(program: Program, step: Step[events.Sharded]) -> PathCondition | None:
    """The path on which this call gets ``CPUOffloadPolicy``."""
    policy = step.what.options.get("offload_policy")
    with program.machine.on_path(step.guard):
        for guard, leaf in program.machine.alternatives(policy) if policy is not None else ():
            if isinstance(leaf, Obj) and leaf.parent is None:
                cls = leaf.atom.cls
                if POLICY in (leaf.atom.origin, cls.qname if isinstance(cls, Ext) else ""):
                    return step.guard.join(guard)
    return None


def _is_each(program: Program, obj: Obj | None) -> bool:
    """Does it stand for all that a container holds?"""
    _, where = program.machine.parents.get(obj, (None, None)) if obj is not None else (None, None)
    return is_each(where)


class StaticPlacement(OfStep[events.Sharded]):
    """A model just before ``step`` shards it, or the first part of it."""

    def moved_whole(self) -> Answer[MovedWhole]:
        groups = [step for step in self.program.trace.of(events.ProcessGroup) if step.precedes(self.step)]
        if groups and all(step.what.world_size == Const(1) for step in groups):
            return self.program.excluded("the process group has one process, which keeps all of it")
        if self.step.what.looped and not stands_alone(self.obj):
            return unknown(f"whether {self.label} is a model or one of its blocks is not known")
        for moved in self.program.trace.of(events.Moved, before=self.step):
            same = self._moves(moved, self.obj) and not self._alone(moved)
            if same and moved.what.to == events.SOMEWHERE:
                return unknown(f"on which devices {moved.when.at} puts {self.label} is not known")
            if same and moved.what.to == "cuda" and not self._moved_back(moved):
                if moved.subject is None or not self._is_module(moved.subject):
                    return unknown(f"whether {moved.when.at} moves {self.label} too is not known")
                if any(self.program.touches(self.obj, hollow) for hollow in self._on_meta()):
                    return unknown(f"whether {self.label} has memory at all is not known")
                model = self.program.label(self._called(moved.subject))
                return yes(MovedWhole(moved.when, "all of it is moved to the GPU here", model))
        return self._filled_on_gpu() or self._moved_in_parts()

    def _moves(self, moved: AnyStep, part: Obj) -> bool:
        """Is it moved, or what holds it by then: a larger model, or a pipeline of a library?"""
        relation = self.program.relation(moved.subject, part)
        if relation is Relation.CONTAINS and moved.subject is not None:
            return self.program.was_part(part, moved.subject, moved)
        return relation is Relation.SAME

    def _called(self, moved: Obj) -> Obj:
        """What of it a reader would name: all that is moved, where its parts are sharded one by one."""
        parts = (part for _, part in self.program.units(moved, Relation.CONTAINS))
        alone = not _is_each(self.program, self.obj) and all(self.program.related(part, self.obj) for part in parts)
        return self.obj if alone else moved

    def _one_by_one(self, moved: AnyStep) -> bool:
        """Is each part moved and sharded in one round of a loop, before the next one is moved?"""
        return _is_each(self.program, moved.subject) and any(
            loop in self.program.loops(self.step) for loop in self.program.loops(moved)[-1:]
        )

    def _alone(self, moved: AnyStep) -> bool:
        """Does it happen where the job has one rank, which keeps all of the model anyway?"""
        return alone(self.program.machine, moved.guard)

    def _is_module(self, subject: Obj) -> bool:
        return self.program.relation(subject, self.obj) is Relation.SAME or bool(subject.atom.module)

    def _filled_on_gpu(self) -> Answer[MovedWhole]:
        """Does it get its memory on the GPU? Unknown where tensors that a load brings take the place of its own."""
        for emptied in self.program.trace.of(events.Emptied, before=self.step):
            if emptied.subject is None or not self._moves(emptied, self.obj) or self._alone(emptied):
                continue
            if not emptied.what.to:
                return unknown(f"on which device {emptied.when.at} puts {self.label} is not known")
            if emptied.what.to == "cuda":
                model = self.program.label(self._called(emptied.subject))
                return yes(MovedWhole(emptied.when, "all of it gets memory on the GPU here", model))
        for load in self.program.trace.of(events.Loaded, before=self.step):
            if load.what.assign and self.program.touches(load.subject, self.obj):
                return unknown(
                    f"on which device the tensors are that {load.when.at} puts into {self.label} is not known"
                )
        return self.program.nothing(self.obj, events.Moved, before=self.step)

    def _moved_in_parts(self) -> Answer[MovedWhole]:
        """Are all its layers moved, one by one, before any of them is sharded?"""
        there = ("cuda", events.SOMEWHERE)
        placed = self.program.trace.of(events.Moved, events.Emptied, before=self.step)
        parts = (Relation.INSIDE, Relation.MAY)
        moves = [
            step
            for step in placed
            if step.what.to in there and self.program.relation(step.subject, self.obj) in parts
            if not self._one_by_one(step) and not self._alone(step)
        ]
        layers = [layer for _, layer in leaves(self.program.machine, self.obj)]
        if not moves or not layers:
            return self.program.nothing(self.obj, events.Moved, before=self.step)
        sure = [step for step in moves if step.what.to == "cuda"]
        left = [layer for layer in layers if not any(self._moves(step, layer) for step in sure)]
        if not left:
            return yes(MovedWhole(sure[-1].when, "the last part of it is moved to the GPU here", self.label))
        if not all(any(self.program.touches(step.subject, layer) for step in moves) for layer in left):
            return self.program.nothing(self.obj, events.Moved, before=self.step)
        return unknown(f"whether {moves[-1].when.at} moves the last part of {self.label} is not known")

    def _on_meta(self) -> list[Obj]:
        steps = self.program.trace.of(events.Meta, events.Emptied)
        return [step.subject for step in steps if step.subject is not None and step.index < self.step.index]

    def _moved_back(self, moved: Step[events.Moved]) -> bool:
        return any(
            step.what.to != "cuda" and self.program.touches(step.subject, self.obj)
            for step in self.program.trace.of(events.Moved, before=self.step, after=moved)
        )

    def known_small(self) -> Answer[object]:
        total = size(self.program.machine, self.obj, repeats=MOST_LAYERS)
        together = self._moved_together()
        if total is not None and total * together * BYTES < GIB:
            whose = "its" if together == 1 else "with all that are like it,"
            return yes(f"{whose} {total * together} parameters take less than a GiB")
        says = sized_by(self.program.machine, self.obj) if total is None else Says.OUTSIDE
        if says is Says.UNREAD:
            return unknown(f"how large {self.label} is stands in a file or a package that was not read")
        if says is Says.SOURCE:
            return unknown(f"how large {self.label} is was not calculated")
        usual = size(self.program.machine, self.obj, repeats=MOST_LAYERS, by_default=True)
        if total is None and usual is not None and usual * together * BYTES < GIB:
            return unknown(f"options of the command line say how large {self.label} is: by default it is small")
        return self.program.excluded("its size is not known to be small")

    def _moved_together(self) -> int:
        """How many like this one lie on the GPU: of blocks that were moved as parts of a model, all."""
        if not _is_each(self.program, self.obj):
            return 1
        moves = [moved for moved in self.program.trace.of(events.Moved, before=self.step) if moved.what.to == "cuda"]
        with_others = any(
            self.program.relation(moved.subject, self.obj) is Relation.CONTAINS and self._moves(moved, self.obj)
            for moved in moves
        )
        return (self.obj.atom.times or MOST_LAYERS) if with_others else 1
