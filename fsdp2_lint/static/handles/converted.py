"""Modules of FSDP2 at places that were written for a wrapped, an unsharded or an unrenamed one."""

from __future__ import annotations

from dataclasses import dataclass

from ...vocab.answers import Answer, no, unknown, yes
from ...vocab.finding import Place
from ..formulas import Formula, is_fork
from ..relations import Relation, covers
from ..torch_model.tables import MODEL_MAKERS
from ..trace import Step
from ..values import BELOW, ClassV, Ext, Obj
from .program import RELATED, Handle, Program
from .units import speaks_of

_WITHOUT_MODULE = (*MODEL_MAKERS, "torch.nn.")


@dataclass(frozen=True, slots=True)
class StaticConverted(Handle):
    program: Program
    obj: Obj
    step: Step

    def converted(self) -> Answer:
        return self.sharded_by(Relation.SAME)

    def sharded_by(self, *relations: Relation) -> Answer:
        """Sharded before, for certain: no run that has one of the two can lack the other."""
        may = ""
        address = self.program.machine.address
        for call, part, relation in self.program.touching(self.obj):
            if relation not in relations and not covers(address(part), address(self.obj)):
                continue
            if not call.driven_before(self.step):
                continue
            may = self._apart(call) or self.program.managed(self.obj)
            if not may:
                return yes(Place(call.when, "the module is sharded here"))
        if may:
            return unknown(may)
        possible = any(True for _ in self.program.units(self.obj, Relation.MAY))
        return unknown(f"whether {self.label} is sharded is not known") if possible else no()

    def _apart(self, call: Step) -> str:
        """Why no run may have both, although nothing that was seen excludes it."""
        if self.step.guard.blurred - call.guard.blurred:
            return "a condition was too large to be followed"
        own, shared = self._extra(self.step, call), self._extra(call, self.step)
        if any(speaks_of(formula, self.obj) for formula in own):
            return f"the program asks what {self.label} is before"
        if own and shared:
            return f"whether the same runs shard {self.label} ({call.when.at}) depends on settings"
        return ""

    def _extra(self, step: Step, other: Step) -> list[Formula]:
        """Conditions of one that the other does not have; ranks and earlier ways out do not choose a strategy."""
        return [
            formula
            for formula, truth in step.guard.undriven.literals
            if not is_fork(formula)
            and not self.program.machine.about_rank(formula)
            and other.guard.decide(formula) is not truth
        ]

    def _below(self) -> Obj | None:
        """The model, where this stands for each module of it."""
        return self.obj.parent if str(self.obj.item).startswith(BELOW) else None


class ModuleOfFsdp2(StaticConverted):
    """At ``model.module``."""

    __slots__ = ()

    def converted(self) -> Answer:
        answer = self.sharded_by(Relation.SAME)
        if not answer.surely or self.program.machine.surely_lacks(self.obj, "module"):
            return answer
        if self.obj.parent is None and self.obj.atom.origin.startswith(_WITHOUT_MODULE):
            return answer  # wrappers among them keep what they wrap under that name, and so never come here
        return unknown(f"whether {self.label} has an attribute of that name is not known")


class RenamedClass(StaticConverted):
    """At a comparison of ``type(m)`` with classes, some of which may have been sharded."""

    __slots__ = ()

    def converted(self) -> Answer:
        names = self.step["names"]
        model = self._below()
        if model is None:
            return self.sharded_by(Relation.SAME) if self._class_of(self.obj) in names else no()
        for part in self._sharded_inside(model):
            if self._class_of(part) in names:
                return type(self)(self.program, part, self.step).sharded_by(Relation.SAME)
        return no()

    def _sharded_inside(self, model: Obj) -> list[Obj]:
        found = self.program.sharded_parts.get(self.program.address(model)[0], ())
        return [part for _, part in found if self.program.relation(model, part) in (Relation.SAME, Relation.CONTAINS)]

    def _class_of(self, obj: Obj) -> str:
        cls = self.program.machine.class_of(obj)
        if isinstance(cls, ClassV):
            return cls.name
        own = obj.atom.cls if obj.parent is None else None
        return own.qname.rsplit(".", 1)[-1] if isinstance(own, Ext) else ""


class StaticGathering(StaticConverted):
    """At ``unshard(async_op=True)`` whose handle is dropped."""

    __slots__ = ()

    def used_too_early(self) -> Answer:
        for step in self._following():
            if step.kind != "called" or step["hooked"]:
                return no()  # the hooks wait, or the program does
            if step["method"] == "forward":
                return yes(Place(step.when, "forward runs on shards here: called directly, it waits for nothing"))
        return no()

    def _following(self) -> list[Step]:
        """What is done with the module from here on, in order."""
        later = [
            step
            for step in self.program.trace.of("called", "unshard", "unshard_waited", "reshard", after=self.step)
            if step.subject is not None and self.program.relation(self.obj, step.subject) in RELATED
        ]
        return sorted(later, key=lambda step: step.index)
