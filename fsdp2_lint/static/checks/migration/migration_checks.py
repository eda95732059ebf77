"""Modules of FSDP2 at places that were written for a wrapped, an unsharded or an unrenamed one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....vocab.answers import Answer, Truth, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep
from ...domain.formulas import Formula, atoms
from ...domain.path_conditions import PathCondition
from ...domain.relations import Relation, covers
from ...domain.sides import merged
from ...domain.trace import E
from ...domain.values import BELOW, ClassV, Ext, Obj
from ...frontend.packages import builds_models
from ..sharding.units import speaks_of
from ..shared.conditions import checked_on, choosing, other_wrappers
from ..shared.program import OfStep


class StaticConverted(OfStep[E]):
    def converted(self) -> Answer[Place]:
        return self.sharded_by(Relation.SAME)

    def sharded_by(self, *relations: Relation) -> Answer[Place]:
        address = self.program.machine.libraries.address
        calls = [
            (call, part)
            for call, part, relation in self.program.touching(self.obj)
            if relation in relations or covers(address(part), address(self.obj))
        ]
        answer = self.among(calls)
        if answer.truth is Truth.NO and self.program.has_units(self.obj, Relation.MAY):
            return unknown(f"whether {self.label} is sharded is not known")
        return answer

    def among(self, calls: Sequence[tuple[AnyStep, Obj]]) -> Answer[Place]:
        """Does one of these surely come before: can no run that has the one lack the other?"""
        before = [(call, part) for call, part in calls if call.driven_before(self.step)]
        if not before:
            return self.program.nothing(self.obj, events.Sharded, before=self.step)
        own_paths = {call.guard: self._without(call, part) for call, part in before}
        why = ""
        for path in merged(list(own_paths.values())):
            there = [call for call, _ in before if own_paths[call.guard].implies(path)]
            why = self._apart(path, there)
            if not why:
                return yes(Place(there[0].when, "the module is sharded here"))
        return unknown(why)

    def _without(self, call: AnyStep, part: Obj) -> PathCondition:
        """The path of a sharding call, without what it asks of the very module: a filter chooses no strategy."""
        asked = [each for each in call.guard.literals if speaks_of(each[0], part)]
        return call.guard.without_literals(frozenset(asked)) if asked else call.guard

    def _apart(self, path: PathCondition, calls: list[AnyStep]) -> str:
        """Why no run may have both, although nothing that was seen excludes it. ``calls``: that take the path."""
        if self.step.guard.blurred - path.blurred:
            return "a condition was too large to be followed"
        machine = self.program.machine
        own = choosing(machine, self.step.guard, path, checked_on(machine, self.step.guard))
        if any(speaks_of(formula, self.obj) and not self._holds_at(calls, formula) for formula in own):
            return f"the program asks what {self.label} is before"
        if own and choosing(machine, path, self.step.guard) and self._means_others():
            return f"whether the same runs shard {self.label} depends on settings"
        return ""

    def _means_others(self) -> bool:
        """May this be written for something else, that other settings bring?"""
        return True

    def _holds_at(self, calls: list[AnyStep], formula: Formula) -> bool:
        """Was it asked before all of these as well, with the same answer?"""
        answer = self.step.guard.decide(formula)
        return all(call.guard.decide(formula) is answer for call in calls)

    def _below(self) -> Obj | None:
        """The model, where this stands for each module of it."""
        return self.obj.parent if str(self.obj.item).startswith(BELOW) else None


class ModuleOfFsdp2(StaticConverted[events.ModuleRead]):
    """At ``model.module``."""

    def converted(self) -> Answer[Place]:
        answer = self.sharded_by(Relation.SAME)
        if why := self.program.managed(self.obj):
            return unknown(why)  # its own wrapper may come between
        if not answer.surely or self.program.machine.libraries.surely_lacks(self.obj, "module"):
            return answer
        if self.obj.parent is None and _lacks_module(self.obj.atom.origin):
            return answer  # wrappers among them keep what they wrap under that name, and so never come here
        if self._parts_are_its_own():
            return answer
        return unknown(f"whether {self.label} has an attribute of that name is not known")

    def _means_others(self) -> bool:
        return other_wrappers(self.program)  # no other module has the attribute

    def _parts_are_its_own(self) -> bool:
        """Is a part of it sharded by another name? Then it is the model, and no wrapper around one."""
        depth = len(self.program.address(self.obj)[1])
        parts = (part for _, part in self.program.units(self.obj, Relation.CONTAINS))
        names = [name for part in parts for name in self.program.address(part)[1][depth : depth + 1]]
        return any(isinstance(name, str) and name.isidentifier() and name != "module" for name in names)


class RenamedClass(StaticConverted[events.ClassCompared]):
    """At a comparison of ``type(m)`` with classes, some of which may have been sharded."""

    def converted(self) -> Answer[Place]:
        names = self.step.what.names
        model = self._below()
        if model is None:
            if self._class_of(self.obj) in names:
                return self.sharded_by(Relation.SAME)
            return self.program.excluded(f"{self.label} is of none of these classes")
        inside = self.program.sharded_parts.get(self.program.address(model)[0], ())
        calls = [(call, part) for call, part in inside if names & {self._class_of(part), *_filtered(call, part)}]
        related = (Relation.SAME, Relation.CONTAINS, Relation.MAY)
        return self.among([each for each in calls if self.program.relation(model, each[1]) in related])

    def _class_of(self, obj: Obj) -> str:
        cls = self.program.machine.class_of(obj)
        if isinstance(cls, ClassV):
            return cls.name
        own = obj.atom.cls if obj.parent is None else None
        return own.qname.rsplit(".", 1)[-1] if isinstance(own, Ext) else ""


def _lacks_module(qname: str) -> bool:
    """A layer of torch, or what a library of models has built."""
    return builds_models(qname) or qname.startswith("torch.nn.")


def _filtered(call: AnyStep, part: Obj) -> Iterator[str]:
    """Names of the classes by which a filter over ``modules()`` chose what is sharded."""
    for formula, truth in call.guard.literals:
        for leaf in atoms(formula) if truth else ():
            if isinstance(leaf[1], tuple) and leaf[1][0] == "isinst" and leaf[1][1] is part:
                yield from (cls.name for cls in leaf[1][2] if isinstance(cls, ClassV))


class StaticGathering(StaticConverted[events.UnshardDropped]):
    """At ``unshard(async_op=True)`` whose handle is dropped."""

    def used_too_early(self) -> Answer[Place]:
        for step in self._following():
            if not isinstance(step.what, events.Called) or step.what.hooked:
                return self.program.excluded(f"{step.when.at} comes first, which waits")
            if step.what.method == "forward":
                return yes(Place(step.when, "forward runs on shards here: called directly, it waits for nothing"))
        return self.program.nothing(self.obj, events.Called, after=self.step)

    def _following(self) -> list[AnyStep]:
        """What is done with the module from here on, in order."""
        later = [
            step
            for step in self.program.trace.of(
                events.Called, events.Unshard, events.UnshardWaited, events.Reshard, after=self.step
            )
            if self.program.related(self.obj, step.subject)
        ]
        return sorted(later, key=lambda step: step.index)
