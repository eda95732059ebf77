"""Values that are read off DTensors."""

from __future__ import annotations

from typing import Any

from ....vocab.answers import Answer, No, Unknown, unknown, yes
from ....vocab.behaviour import NORM_OF_CLIPPING_IS_PARTIAL, TESTS_ARE_PARTIAL, Behaviour
from ....vocab.finding import Moment, Place, Site
from ...domain import events
from ...domain.events import Step
from ...domain.formulas import atoms, is_fork
from ...domain.relations import Relation
from ...domain.values import Computed, ParamV
from ...interpreter.expressions.own_values import Own, own_of
from ...libraries.python.attempts import never_dtensor
from ...libraries.torch.training.dtensors import PLACEMENTS
from ..checkpoints.payloads import asked_of_unseen
from ..ranks.agreement import agreed_later
from ..ranks.own_choices import agreed
from ..shared.objects import RELATED
from ..shared.program import AtStep

_IN_SOME_VERSIONS = {"clip": NORM_OF_CLIPPING_IS_PARTIAL, "any": TESTS_ARE_PARTIAL, "all": TESTS_ARE_PARTIAL}


class StaticLocalPart(AtStep[events.GradientScaled]):
    """What a rank has of a norm or a sum over gradients, where each rank scales its shards with it."""

    name = "to_local()"

    @property
    def own(self) -> Own:
        found = own_of(self.program.machine, self.step.what.factor)
        assert found is not None
        return found

    @property
    def taken(self) -> Moment:
        return self.own.when or self.step.when

    def partial(self) -> Answer[tuple[str, Site | None]]:
        own, subject = self.own, self.step.subject
        assert own.part is not None and subject is not None
        read = own.part.of.read
        if not any(each.index < read and each.precedes(self.step) for each, _ in self.program.units(subject, *RELATED)):
            if self.program.has_units(subject, Relation.MAY):
                return unknown("whether the model is sharded is not known")
            return self.program.nothing(subject, events.Sharded, before=self.step)
        if not self._always(own, own.part):
            return unknown("the parts of the other ranks may be added on another path")
        if why := self.program.managed(subject) or agreed(self.program, own, self.step):
            return unknown(why)
        return yes((PLACEMENTS.get(own.part.how, "sharded"), None))

    def _always(self, own: Own, part: Computed) -> bool:
        """Does the path to the gradient lead there, whatever was asked of the tensor itself?"""
        return all(
            literal in self.step.guard.literal_set
            or any(_about((atom[1],), part) or _about(atom[1], part) for atom in atoms(literal[0]))
            for literal in own.path.literals
            if not is_fork(literal[0])
        )

    def in_some_versions(self) -> Answer[Behaviour]:
        return self.program.excluded("its placement is the same in all versions")

    def sharding(self) -> Answer[Place]:
        return yes(Place(self.step.when, "the gradients are scaled with what is computed from it"))


class StaticReading(AtStep[events.ValueRead]):
    @property
    def name(self) -> str:
        return str(self.step.what.by)

    def partial(self) -> Answer[tuple[str, Site | None]]:
        value: Computed = self.step.what.value
        sharded = self._sharding()
        if sharded is None:
            return self._may()
        assert self.step.subject is not None
        if never_dtensor(self.step.guard, value.of):
            return self.program.excluded("the program asked, and reads what is no DTensor")
        why = self.program.managed(self.step.subject) or self._checked(value)
        if why := why or agreed_later(self.program, self.step):
            return unknown(why)
        return yes((PLACEMENTS[value.how], value.at))

    def in_some_versions(self) -> Answer[Behaviour]:
        only = _IN_SOME_VERSIONS.get(self.step.what.value.how)
        return (
            yes(only)
            if only is not None
            else self.program.excluded("it is no norm of clipping, and neither any() nor all()")
        )

    def sharding(self) -> Answer[Place]:
        step = self._sharding()
        if step is None:
            return self._may()
        return yes(Place(step.when, "its parameters become DTensors here"))

    def _sharding(self) -> Step[events.Sharded] | None:
        """The call that sharded the model before the parameter was read."""
        value: Computed = self.step.what.value
        assert self.step.subject is not None
        for step, _ in self.program.units(self.step.subject, *RELATED):
            if step.index < value.of.read and step.precedes(self.step):
                return step
        return None

    def _may(self) -> No | Unknown:
        assert self.step.subject is not None
        if self.program.has_units(self.step.subject, Relation.MAY):
            return unknown("whether the model is sharded is not known")
        return self.program.nothing(self.step.subject, events.Sharded, before=self.step)

    def _checked(self, value: Computed) -> str:
        """Does the code ask whether this is a DTensor, or gather the parameters first?"""
        if who := asked_of_unseen(self.step.guard, value.of):
            return f"which tensors are read is decided by {who}, which was not followed"
        for formula, _ in self.step.guard.literals:
            if any(_about(atom[1], value) for atom in atoms(formula)):
                return "the code asks what kind of tensor it has"
        for step in self.program.trace.of(events.Unshard, before=self.step):
            if not self.step.guard.implies(step.guard):
                continue
            if self.program.related(step.subject, self.step.subject):
                return "the parameters may be gathered here"
        return ""


def _about(key: Any, value: Computed) -> bool:
    """Is it a question about this value, or about the parameter that it comes from?"""
    if not isinstance(key, tuple):
        return False
    return any(part == value or isinstance(part, ParamV) and part.model == value.of.model for part in key)
