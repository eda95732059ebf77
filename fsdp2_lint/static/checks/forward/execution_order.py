"""In which order a model and its parts run, and what of it is still gathered when an optimizer steps."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.answers import Answer, Many, many, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Place
from ....vocab.live import FORWARD, Leftover
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.relations import Relation
from ...domain.values import Const, Obj, is_each
from ..shared.program import AtStep, OfStep, Program, Subject
from ..shared.structure import from_a_library, leaves, owns_parameters
from .forward import Group, concerns, group_of


# -- which forward of a model comes first: FSDP2 makes the buffers that it gathers into there
@record
class StaticBeginning(AtStep[events.Event]):
    """The call of ``obj`` at ``step``, in inference mode."""

    obj: Obj

    def before_training(self) -> Answer[Place]:
        earlier = [call for call in self._trained() if call.index < self.step.index]
        if any(call.driven_before(self.step) for call in earlier):
            return self.program.excluded("a forward outside inference mode comes first")
        if earlier:
            return unknown("whether another forward comes first is not known")
        later = next((call for call in self._trained() if self.step.precedes(call)), None)
        if later is None:
            return unknown("no forward outside inference mode was seen to come after it")
        return yes(Place(later.when, "a forward that trains it"))

    def _trained(self) -> Iterator[AnyStep]:
        """Its forwards outside inference mode."""
        for call in self.program.trace.of(events.Called):
            if call.what.hooked and call.what.inference is None and call.subject is not None:
                if self.program.related(self.obj, call.subject):
                    yield call


@record
class StaticPart(OfStep[events.Event]):
    """A sharded module that is called at ``step``, and the sharded modules around it that do not run then."""

    around: tuple[Obj, ...]

    def ran_first(self) -> Answer[Place]:
        """Is it called before its root? yes: where that is called, later. Unknown where unseen code has it."""
        for outer in self.around:
            if why := self.program.managed(outer) or self.program.escaped(outer, before=self.step):
                return unknown(why)
        later: AnyStep | None = None
        for called in self.program.trace.of(events.Called):
            relations = [self.program.relation(outer, called.subject) for outer in self.around if called.subject]
            if called.index < self.step.index and called.together(self.step):
                if any(found in (Relation.SAME, Relation.INSIDE, Relation.MAY) for found in relations):
                    return self.program.excluded(f"its root is called before, at {called.when.at}")
            elif Relation.SAME in relations and called.what.hooked:
                if self.step.precedes(called):
                    later = later or called
        if later is not None:
            return yes(Place(later.when, "its root is called here, later"))
        return self.program.nothing(self.obj, events.Called)


def around(program: Program, step: Step[events.Use]) -> tuple[Obj, ...]:
    """The sharded modules that contain the one which ``step`` calls; none where one of them runs."""
    assert step.subject is not None
    found: dict[Obj, None] = {}
    for sharding, outer, relation in program.touching(step.subject):
        if relation is Relation.INSIDE and sharding.precedes(step):
            found[outer] = None
    for outer in found:
        running = [*step.what.inside, *(receiver for receiver, name, _ in step.what.methods if name == "forward")]
        if any(program.relation(each, outer) in (Relation.SAME, Relation.MAY) for each in running):
            return ()
        if any(program.relation(receiver, outer) is Relation.SAME for receiver, _, depth in step.what.methods
               if depth >= len(step.when.stack)):  # fmt: skip
            return ()  # nobody was seen who calls this method
    return tuple(found)


@record
class StaticKeeper(Subject):
    """The root of ``group``, in a forward between a backward and the ``stepped`` that follows it."""

    program: Program
    obj: Obj
    group: Group
    forward: AnyStep
    stepped: AnyStep

    def stale(self) -> Many[Leftover]:
        program, module = self.program, self.group.module
        stays = self.group.stays_gathered()
        if stays is False or any(_reaches(program, each, module) for each in self._between(events.Reshard)):
            return many((), self.program.excluded(f"{self.label} is resharded"))
        if why := program.managed(module) or program.escaped(module):
            return many((), unknown(why))
        if stays is None:
            return many((), unknown(f"whether {self.label} stays gathered is not known"))
        own = [leaf for _, leaf in leaves(program.machine, module) if self._is_own(leaf)]
        if not own and not self._has_embeddings():
            return many((), unknown(f"which parameters {self.label} holds itself is not known"))
        left = Leftover(self.label, self.forward.when, self.stepped.when, FORWARD)
        return many([left], self.program.nothing(module, events.Called, events.Reshard))

    def _has_embeddings(self) -> bool:
        """A transformer of a library, of which only blocks are groups of their own."""
        inner = [part for _, part in self.program.units(self.group.module, Relation.CONTAINS, Relation.MAY)]
        return from_a_library(self.group.module) and all(is_each(part.item) for part in inner)

    def _is_own(self, leaf: Obj) -> bool:
        group = group_of(self.program, leaf, self.forward)
        return isinstance(group, Group) and group.module is self.group.module

    def _between(self, kind: type[events.Event]) -> Iterator[AnyStep]:
        for step in self.program.trace.of(kind):
            if self.forward.index < step.index < self.stepped.index and step.together(self.forward):
                yield step


def _reaches(program: Program, reshard: AnyStep, module: Obj) -> bool:
    """``reshard()`` is not recursive: that of a module around this one leaves it as it is."""
    return program.relation(reshard.subject, module) in (Relation.SAME, Relation.MAY)


def inner_keepers(program: Program, root: Obj, step: AnyStep) -> Iterator[Group]:
    """The groups below a root that are told to stay gathered after forward."""
    for sharding, part in program.units(root, Relation.CONTAINS):
        keeps = sharding.what.options.get("reshard_after_forward") == Const(False)
        if keeps and sharding.precedes(step) and not sharding.what.listed:
            yield Group(program, sharding, part)


def pending(program: Program, forward: AnyStep, group: Group) -> tuple[AnyStep, AnyStep] | None:
    """The earlier forward that was trained, and the step to come, where ``forward`` lies between backward and step."""
    trace, module = program.trace, group.module
    steps = [step for step in trace.of(events.Stepped) if _holds(program, step, group)]
    coming = next((step for step in steps if forward.precedes(step)), None)
    backward = [step for step in trace.of(events.Backward) if step.precedes(forward)]
    if coming is None or not backward:
        return None
    last = backward[-1]
    if any(last.index < step.index < forward.index and step.together(forward) for step in steps):
        return None
    for step in trace.of(events.Backward, before=coming):
        if forward.index < step.index and step.together(forward) and _goes_through(program, step, last, module):
            return None
    trained = next(
        (
            step
            for step in trace.of(events.Called, before=last)
            if step.what.hooked and step.what.looped and concerns(program, step, module)
        ),
        None,
    )
    return (trained, coming) if trained is not None else None


def _goes_through(program: Program, backward: AnyStep, last: AnyStep, module: Obj) -> bool:
    """May it free the module: is there a forward since the ``last`` one that it may go back through?"""
    called = (step for step in program.trace.of(events.Called, after=last, before=backward) if step.what.recorded)
    return any(concerns(program, step, module) for step in called)


def _holds(program: Program, stepped: AnyStep, group: Group) -> bool:
    """Does the optimizer that steps hold parameters of the group: those of the whole module, or of a part of it?"""
    for part in program.held_by.get(stepped.subject, ()):
        relation = program.relation(part, group.module)
        if relation in (Relation.SAME, Relation.CONTAINS):
            return True
        if relation is not Relation.INSIDE:
            continue
        own = [part] if owns_parameters(part) else [layer for _, layer in leaves(program.machine, part)]
        found = [group_of(program, layer, stepped) for layer in own]
        if any(isinstance(each, Group) and each.module is group.module for each in found):
            return True
    return False
