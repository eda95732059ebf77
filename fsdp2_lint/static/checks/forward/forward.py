"""Weights in use: which group they belong to, whether that is gathered, and which method got there past its hooks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Literal, TypeGuard

from ....vocab.answers import Answer, Unknown, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Moment, Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.relations import Relation, covers
from ...domain.sides import merged
from ...domain.values import Const, Obj
from ..sharding.units import StaticUnit
from ..shared.models import StaticModel
from ..shared.program import OfStep, Program
from ..shared.switches import RESHARD, LeftOff

AROUND = frozenset({Relation.SAME, Relation.CONTAINS})


@record
class Group:
    """What one call of ``fully_shard`` made of one module."""

    program: Program
    sharding: Step[events.Sharded]
    module: Obj

    def is_made_of(self, obj: Obj) -> bool:
        """Is this the group of ``obj`` itself, rather than of something around it?"""
        return is_sharded_as(self.program, obj, self.module)

    def is_root(self) -> bool | None:
        """Is it part of no other group? None: perhaps."""
        touching = self.program.touching(self.module)  # some part of it is not around it
        around = [found for _, part, found in touching if found is not Relation.SAME and self.module not in part.above]
        if Relation.INSIDE in around:
            return False
        return None if Relation.MAY in around else True

    def stays_gathered(self) -> bool | None:
        """Does it keep its parameters after a forward? None: perhaps."""
        switched = self.program.trace.of(events.ReshardingSwitched)
        if self.sharding.what.options_open or any(step.what.after == "forward" for step in switched):
            return None
        option = self.sharding.what.options.get("reshard_after_forward", Const(None))
        if not isinstance(option, Const):
            return None
        if option.value is None:
            return self.is_root()
        return not option.value


def group_of(program: Program, obj: Obj, step: AnyStep) -> Group | str | None:
    """The group that a module's own parameters belong to at ``step``; a text says why that is not known."""
    for at in program.ancestors(obj):
        for sharding, part, relation in program.touching(at):
            if is_sharded_as(program, at, part) and sharding.precedes(step):
                if sharding.guard.blurred - step.guard.blurred:
                    return f"which modules pass the filter at {sharding.when.at} is not known"
                if "ignored_params" in sharding.what.options or sharding.what.options_open:
                    return f"which parameters {sharding.when.at} leaves out is not known"
                if sharding.what.listed:
                    return f"{sharding.when.at} gathers several modules together"
                if StaticUnit(program, sharding, part).container_without_forward().surely:
                    return f"{program.label(part)} is never called"
                return Group(program, sharding, part)
            if relation is Relation.MAY and not _is_filtered_out(program, sharding, part, at):
                return f"whether {program.label(at)} is the module that {sharding.when.at} shards is not known"
    return None


def _is_filtered_out(program: Program, sharding: Step[events.Sharded], part: Obj, obj: Obj) -> bool:
    """Is what is sharded of other classes, as a filter has asked, than this one?"""
    for formula, truth in sharding.guard.literals:
        asked = formula[1] if formula[0] == "truth" else None
        if truth and isinstance(asked, tuple) and asked[:2] == ("isinst", part):
            if program.machine.libraries.isinstance_formula(obj, [*asked[2]]) is False:
                return True
    return False


def is_sharded_as(program: Program, obj: Obj, part: Obj) -> bool:
    """Is ``obj`` what was sharded as ``part``, or one of all the elements that were?"""
    relation = program.relation(obj, part)
    return relation is Relation.SAME or covers(program.address(part), program.address(obj))


def gathered(group: Group, step: AnyStep) -> Answer[object]:
    """May the parameters of the group be gathered at ``step``? A yes where nothing proves that they are not."""
    program, module = group.program, group.module
    for running in step.what.inside if isinstance(step.what, events.Use) else ():
        relation = program.relation(running, module)
        if relation is Relation.SAME:
            return yes(True)
        if relation is Relation.MAY:
            return unknown(f"whether {program.label(module)} runs here is not known")
        if relation is Relation.INSIDE and any(found is Relation.SAME for _, _, found in program.touching(running)):
            return unknown(f"which call shards {program.label(running)} depends on the path")
    if why := program.managed(module) or program.escaped(module, before=step):
        return unknown(why)
    if (left := _left_by(group, step)) is not None:
        return unknown(f"{left.when.at} may have left it gathered")
    return program.nothing(module, events.Unshard, events.Called, before=step)


def _left_by(group: Group, step: AnyStep) -> AnyStep | None:
    """A forward or ``unshard`` before ``step`` after which nothing surely resharded the group."""
    program, module = group.program, group.module
    paths: dict[int, list[AnyStep]] = {}  # one call, for each value that it may be made on
    backwards = _resharding(program, module, step)
    for freeing in program.trace.of(events.Backward, events.Reshard, before=step):
        if freeing in backwards if isinstance(freeing.what, events.Backward) else concerns(program, freeing, module):
            paths.setdefault(freeing.place, []).append(freeing)
    sure = [
        same[-1].index
        for same in paths.values()
        if any(step.guard.implies(guard) for guard in merged([one.guard for one in same]))
    ]
    last = max(sure, default=-1)
    forwards = program.trace.of(events.Called) if group.stays_gathered() is not False else ()
    hooked = (each for each in forwards if each.what.hooked)
    gathering: Iterable[AnyStep] = itertools.chain(hooked, program.trace.of(events.Unshard))
    for each in gathering:
        if last < each.index < step.index and each.together(step) and concerns(program, each, module):
            return each
    return None


def _resharding(program: Program, module: Obj, step: AnyStep) -> list[AnyStep]:
    """The backwards before ``step`` that reshard: all of them, or the last one alone where that is switched."""
    backwards = list[AnyStep](program.trace.of(events.Backward, before=step))
    if next(iter(program.trace.of(events.ReshardingSwitched)), None) is None:
        return backwards
    if not _in_loops(step):
        return []
    left = LeftOff(program, step, module, RESHARD)
    last, (found, rest) = left.last_backward(), left.found()
    if last is None or found or isinstance(rest, Unknown):
        return []
    return [each for each in backwards if each.place == last.place]


def _in_loops(step: AnyStep) -> TypeGuard[Step[events.InLoops]]:
    return isinstance(step.what, events.InLoops)


def concerns(program: Program, step: AnyStep, module: Obj) -> bool:
    """Does a step concern a module that is this one or holds it?"""
    relation = program.relation(step.subject, module)
    return relation in AROUND or relation is Relation.MAY


@record
class Culprit:
    """What stands in the way of the hooks: a method of a sharded module, or a use of a part of one."""

    kind: Literal["method", "forward", "part"]
    when: Moment
    obj: Obj
    name: str


def culprit(program: Program, step: Step[events.Use]) -> Culprit | None:
    """The outermost method on the way to ``step`` that runs past the hooks of what it belongs to, or the use itself.

    None: a method that no code of the program calls.
    """
    assert step.subject is not None
    inside = step.what.inside
    for receiver, name, depth in step.what.methods:
        entered = receiver in inside
        if entered and name != "forward":
            continue
        relations = [found for sharding, _, found in program.touching(receiver) if sharding.precedes(step)]
        if depth >= len(step.when.stack):
            if relations and not entered:
                return None  # nobody was seen who calls this method
            continue
        when = _opened(step.when, depth)
        if Relation.SAME in relations:
            if not entered:
                return Culprit("forward" if name == "forward" else "method", when, receiver, name)
        elif Relation.INSIDE in relations:
            around = inside[: inside.index(receiver)] if entered else inside
            if not any(program.relation(running, receiver) in AROUND for running in around):
                return Culprit("part", when, step.subject, name)
    return Culprit("part", step.when, step.subject, "")


def _opened(when: Moment, depth: int) -> Moment:
    """Where the call stands that opened the activation with so many others inside it."""
    chain = when.stack[: len(when.stack) - depth]
    return Moment(chain[-1], chain[:-1])


@record
class StaticWeight(OfStep[events.Event]):
    """A parameter in use at ``step``, and its group."""

    group: Group
    name: str

    @property
    def label(self) -> str:
        _, name = self.program.machine.parents.get(self.obj, (self.obj, ""))
        owner = name if name.isidentifier() and self.name else self.program.label(self.obj)
        return f"{owner}.{self.name}" if self.name else f"a parameter of {owner}"

    def sharded(self) -> Answer[Moment]:
        return yes(self.group.sharding.when)

    def gathered(self) -> Answer[object]:
        return gathered(self.group, self.step)


@record
class PastHooks(StaticModel):
    """A sharded module whose method came to a parameter of ``group`` at ``step``."""

    group: Group | None = None

    def hooks_bypassed(self, method: str) -> Answer[Place | None]:
        assert self.group is not None and self.step is not None
        registered, vain = self.registered(method)
        if registered is not None:
            return self.program.excluded(f"it is registered at {registered.when.at}")
        held = gathered(self.group, self.step)
        if not held.possibly:
            return yes(vain)
        return unknown(held.why) if not held.surely else self.program.excluded("its parameters are gathered here")
