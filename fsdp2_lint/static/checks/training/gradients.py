"""By what gradients are divided, and those that the program takes itself."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.answers import Answer, Many, No, Unknown, many, unknown, yes
from ....vocab.events.training import Divides
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import Step
from ...domain.relations import Relation
from ...domain.values import Const, Obj, Value
from ...frontend.launchers import WORLD_SIZE
from ...interpreter.expressions.numbers import is_multiple
from ...libraries.defaults import default_of
from ...libraries.interface import Machine
from ..ranks.agreement import agreed_later
from ..shared.program import OfStep
from ..shared.switches import called_unseen

# -- by what the groups of a model divide their gradients
_SETTERS = ("set_gradient_divide_factor", "set_reduce_scatter_divide_factor")


class StaticDividing(OfStep[events.Divided]):
    """The group of one module, as it is given its number."""

    def unevenly(self) -> Many[Divides]:
        """Groups inside that nothing gives a number to; unknown where it may be the one that they have anyway."""
        left = list(self._left_out())
        own = next((step for step, _ in self.program.units(self.obj, Relation.SAME) if step.precedes(self.step)), None)
        if own is None or not left:
            return many((), self._alike())
        if why := self._why_not(left):
            return many((), unknown(why))
        first, part = left[0]
        value = self.step.what.factor
        times = self._times_ranks()
        by = f"the number of ranks times {times}" if times else str(value.value) if isinstance(value, Const) else ""
        uneven = Divides(
            self.label, by, self.step.when, self.program.label(part), "the number of their ranks", first.when
        )
        return many([uneven], self.program.nothing(self.obj, events.Divided))

    def _alike(self) -> No | Unknown:
        """No: each group of the model is given this number; unknown where one of another number may be right."""
        top = self.program.top(self.obj)
        for step, part in self.program.units(top, Relation.SAME, Relation.CONTAINS):
            if step.together(self.step) and not any(self._gives(each, part, alike=True) for each in self._all()):
                return unknown(f"whether the group of {self.program.label(part)} is to be divided alike is not known")
        return self.program.nothing(top, events.Divided, events.Sharded)

    def _left_out(self) -> Iterator[tuple[Step[events.Sharded], Obj]]:
        for step, part in self.program.units(self.obj, Relation.CONTAINS):
            if step.together(self.step) and not any(self._gives(each, part) for each in self._all()):
                yield step, part

    def _all(self) -> Iterator[Step[events.Divided]]:
        return self.program.trace.of(events.Divided)

    def _gives(self, other: Step[events.Divided], part: Obj, *, alike: bool = False) -> bool:
        if alike and not (other.what.factor == self.step.what.factor and self.step.guard.implies(other.guard)):
            return False
        return other.together(self.step) and self.program.relation(part, other.subject) is Relation.SAME

    def _times_ranks(self) -> int | None:
        """By what the number of ranks is multiplied, such as the micro-batches of a step by default: more than one."""
        value = self.step.what.factor
        if not isinstance(value, Obj):
            return None
        _, operator, by = value.item if is_multiple(value.item) else ("", value.atom.operator, None)
        parts = value.atom.operands if by is None or value.parent is None else (value.parent, by)
        others = [part for part in parts if not _is_number_of_ranks(self.program.machine, part)]
        if operator != "*" or len(parts) != 2 or len(others) != 1:
            return None
        times = others[0] if isinstance(others[0], Const) else default_of(self.program.machine, others[0])
        if isinstance(times, Const) and isinstance(times.value, int) and times.value > 1:
            return times.value
        return None

    def _why_not(self, left: list[tuple[Step[events.Sharded], Obj]]) -> str:
        """Why the gradients may be of one scale all the same."""
        value, times = self.step.what.factor, self._times_ranks()
        if times is None and not (isinstance(value, Const) and isinstance(value.value, (int, float))):
            return "whether the gradients are divided by the number of ranks is not known"
        if isinstance(value, Const) and value.value > 1 and value.value == int(value.value):
            return f"whether there are {value.value} ranks is not known"
        for each in self._all():
            if any(self.program.relation(part, each.subject) is Relation.MAY for _, part in left):
                return f"which groups {each.when.at} gives a number is not known"
        for frozen in self.program.trace.of(events.Frozen):
            if any(self.program.touches(part, frozen.subject) for _, part in left):
                return f"whether the groups inside are trained is not known ({frozen.when.at})"
        if next(self.program.trace.of(events.Backward, after=self.step), None) is None:
            return "no backward pass was seen after it"
        unseen = (called_unseen(self.program, setter, self._all()) for setter in _SETTERS)
        return next(filter(None, unseen), "") or self.program.managed(self.obj) or self.program.escaped(self.obj)


def _is_number_of_ranks(machine: Machine, value: Value) -> bool:
    """That of the job, or of a mesh with all its dimensions."""
    if not isinstance(value, Obj):
        return False
    whole = value.parent is not None and value.parent.parent is None and value.item == ("()", "size", ())
    return value.atom.origin == "DeviceMesh" and whole or value is machine.libraries.settings.get(WORLD_SIZE)


# -- gradients of sharded parameters that the program takes itself
class StaticDifferentiated(OfStep[events.Differentiated]):
    @property
    def label(self) -> str:
        return self.program.label(self.program.top(self.obj))

    def unreduced(self) -> Answer[Place]:
        """Unknown where ranks put together what may have been made of these gradients."""
        reads = [held.read for held in self.step.what.held if held.model is self.obj]
        for step, _ in self.program.units(self.obj, Relation.SAME, Relation.INSIDE):
            if step.precedes(self.step) and any(step.index < read for read in reads):
                if "ignored_params" in step.what.options or step.what.options_open:
                    return unknown(f"which parameters {step.when.at} leaves out is not known")
                why = self.program.managed(self.obj) or self._reduced()
                return unknown(why) if why else yes(Place(step.when))
        if self.program.has_units(self.obj, Relation.CONTAINS, Relation.MAY):
            return unknown("whether these parameters are sharded is not known")
        return self.program.nothing(self.obj, events.Sharded, before=self.step)

    def _reduced(self) -> str:
        for handed in self.program.trace.of(events.GradientsHandedOn):
            return f"{handed.what.who}, which was not followed, gets these gradients ({handed.when.at})"
        return agreed_later(self.program, self.step)
