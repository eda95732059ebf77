"""What of a model is in no group, so that nothing reduces its gradients."""

from __future__ import annotations

from dataclasses import replace

from ....vocab.answers import Answer, unknown, yes
from ....vocab.declared import record
from ...domain import events
from ...domain.events import AnyStep
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.relations import Relation
from ...domain.values import BELOW, Obj, is_each
from .objects import RELATED
from .program import Program, Subject
from .structure import from_a_library, leaves, opaque_parts, stands_alone, wrapped_by
from .trained import Trained


@record
class LeftOut(Subject):
    """Of a model, in runs that take ``path``."""

    program: Program
    obj: Obj
    path: PathCondition = TRUE

    def outside(self) -> Answer[list[str]]:
        """Which of its parts are in no group but that of the root; unknown where a part was not seen."""
        if from_a_library(self.obj):
            return self._outside_blocks()
        if self.program.partial and self.obj.atom.kind != "instance":
            return unknown(f"{self.label} is built by a caller that was not seen")
        if self.obj.parent is not None or self.obj.atom.kind != "instance" or not self.obj.atom.module:
            return unknown(f"the fields of {self.label} are not known")
        parts = leaves(self.program.machine, self.obj)
        left = [(name, leaf) for name, leaf in parts if not self._covered(leaf, perhaps=True)]
        if not left:
            doubtful = [part for _, part in parts] + opaque_parts(self.program.machine, self.obj)
            open_ = [part for part in doubtful if not self._covered(part)]
            if open_:
                around = next((found for part in open_ if (found := self._around_blocks_of(part))), None)
                return around or unknown(f"whether all of {self.program.label(open_[0])} is sharded is not known")
            return self.program.excluded(f"all parameters of {self.label} are in a group")
        if why := self._changed_hands():
            return unknown(why)
        frozen = [
            step.subject
            for step in self.program.trace.of(events.Frozen)
            if step.subject is not None and Trained(self.program, self.obj).is_sharded_where(step)
        ]
        reached = (Relation.SAME, Relation.CONTAINS, Relation.MAY)
        live = [
            (name, leaf) for name, leaf in left if not any(self.program.relation(at, leaf) in reached for at in frozen)
        ]
        if not live:
            if frozen:
                return self.program.excluded("what is in no group is frozen")
            return unknown("whether the rest is trained is not known")
        return self._held(live)

    def _changed_hands(self) -> str:
        """Why more of it may be sharded, by the time it is trained, than was seen."""
        begin = Trained(self.program, self.obj).first_backward()
        why = self.program.escaped(self.obj, before=begin) or shardings_unknown(self.program, self.obj)
        return why or self._filters() or reduced_by_hooks(self.program, self.obj)

    def _around_blocks_of(self, part: Obj) -> Answer[list[str]]:
        """What a part that a library has built has around its blocks, where an optimizer holds it."""
        mine = replace(self, obj=part)
        in_blocks = from_a_library(part) and self.program.has_units(part, Relation.CONTAINS)
        if not in_blocks or Trained(self.program, part).optimizer() is None:
            return unknown(f"whether all of {mine.label} is sharded is not known")
        if why := self._changed_hands():
            return unknown(why)
        found = mine._outside_blocks()
        name = self.program.machine.parents[part][1]
        return yes([f"the embeddings and last norm of {name}"]) if found else found

    def _outside_blocks(self) -> Answer[list[str]]:
        parts = [part for step, part in self.program.units(self.obj, Relation.CONTAINS, Relation.MAY)]
        if not all(is_each(part.item) for part in parts):
            return unknown(f"what {self.label} is made of is not known")
        frozen = any(self.program.touches(self.obj, step.subject) for step in self.program.trace.of(events.Frozen))
        why = self._changed_hands()
        if why or frozen or not self._held_whole():
            return unknown(why or "whether the rest is trained is not known")
        return yes(["its embeddings and last norm"])

    def _held_whole(self) -> bool:
        """Has an optimizer all of it, where one has any?"""
        held = [one.model for step in self.program.trace.of(events.Optimizer) for one in step.what.held]
        relations = [self.program.relation(model, self.obj) for model in held]
        return Relation.INSIDE not in relations or Relation.SAME in relations or Relation.CONTAINS in relations

    def _held(self, live: list[tuple[str, Obj]]) -> Answer[list[str]]:
        """Those that an optimizer trains; all of them where none is known."""
        optimizers = list(self.program.trace.of(events.Optimizer))
        if not all(step.what.complete for step in optimizers) and not any(step.what.held for step in optimizers):
            return yes([name for name, _ in live])
        held = [one.model for step in optimizers for one in step.what.held]
        named = [
            name
            for name, leaf in live
            if any(self.program.relation(model, leaf) in (Relation.SAME, Relation.CONTAINS) for model in held)
        ]
        if named or not optimizers:
            return yes(named or [name for name, _ in live])
        return unknown("which parameters the optimizer holds is not known")

    def _filters(self) -> str:
        for step in self.program.trace.of(events.Sharded):
            for part in step.what.group:
                if str(part.item).startswith(BELOW) and self.program.touches(self.obj, part):
                    return "which modules the filter over modules() matches is not known"
        return ""

    def _covered(self, part: Obj, *, perhaps: bool = False) -> bool:
        units = self.program.units(part, Relation.SAME, Relation.INSIDE, *[Relation.MAY] * perhaps)
        return any(step.guard.compatible(self.path) and (perhaps or not step.what.filtered) for step, _ in units)


def shardings_unknown(program: Program, obj: Obj, before: AnyStep | None = None) -> str:
    """Shardings of objects of unknown origin might be of parts of this model."""
    own = list(dict.fromkeys(step.guard for step, _ in program.units(obj, *RELATED, Relation.MAY)))
    apart: dict[PathCondition, bool] = {}  # many steps share their path
    for step in program.trace.of(events.Sharded):
        if step.guard not in apart:
            apart[step.guard] = bool(own) and not any(step.guard.compatible(mine) for mine in own)
        if apart[step.guard]:
            continue
        if before is not None and before.precedes(step):
            continue
        if step.what.open_why:
            return str(step.what.open_why)
        for part in step.what.group:
            if not program.touches(obj, part) and not stands_alone(part):
                return f"{step.when.at} shards an object of unknown origin"
    return ""


def reduced_by_hooks(program: Program, obj: Obj) -> str:
    """Who may reduce gradients that no group reduces."""
    for step in program.trace.of(events.ParamHook):
        if any(program.touches(obj, each) for each in _with_inner(program, step.subject)):
            return f"a hook on its parameters ({step.when.at}) may reduce their gradients"
    return ""


def _with_inner(program: Program, obj: Obj | None) -> list[Obj]:
    return [obj, *wrapped_by(program.machine, obj)] if obj is not None else []
