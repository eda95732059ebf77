"""Models that are made on the meta device, and initialisers that do not exist."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ....vocab.answers import Answer, Many, many, unknown, yes
from ....vocab.finding import Moment, Place
from ...domain import events
from ...domain.events import AnyStep
from ...domain.formulas import Interned, atoms
from ...domain.relations import Relation
from ...domain.values import SOME, ClassV, Ext, Obj
from ...libraries.torch.sharding.module_tree import lacks_reset, layer_base
from ..shared.program import OfStep
from .initialisation import StaticEmptied

_NAME = "reset_parameters"
_PUT_IN = r"\.reset_parameters\s*=[^=]|setattr\([^)]*reset_parameters"
_OF_THE_MACHINE = ("torch.accelerator.", "torch.cuda.", "torch.distributed.", "os.", "sys.")


@dataclass(eq=False)
class StaticMetaModel(StaticEmptied):
    """A model that was made on the meta device; ``call`` runs it."""

    def left_on_meta(self) -> Answer[Place]:
        if not self._owns_parameters():
            return self.program.excluded(f"{self.label} has no parameters")
        if self.without(self.writes) is None:
            return self.written_for_sure()
        why = self.not_followed()
        return unknown(why) if why else yes(Place(self.begin.when))

    def sharded_at(self) -> Many[Place]:
        calls = [step for step, _ in self.program.units(self.obj, Relation.SAME) if step.together(self.call)]
        return many((Place(step.when, "sharded here, still without memory") for step in calls[:1]), self._followed())

    def written_in_other_runs(self) -> Many[Place]:
        words = "this gives it memory, but not every run and every rank comes here"
        return many((Place(step.when, words) for step in self.writes), self._followed())

    def _followed(self) -> Answer[Place]:
        return self.program.among(events.Sharded, events.Emptied, events.Written, events.Loaded)

    @cached_property
    def writes(self) -> list[AnyStep]:
        """What gives it memory. An initialiser on meta draws nothing, and a load without ``assign`` copies nothing."""
        filled = [
            step
            for step in super().writes
            if isinstance(step.what, events.Written)
            and not step.what.in_place
            or isinstance(step.what, events.Loaded)
            and step.what.assign
        ]
        emptied = [
            step
            for step in self.program.trace.of(events.Emptied)
            if (step.index < self.call.index or step.context) and self._may_write(step)
        ]
        return [*emptied, *filled]


class StaticInitialised(OfStep[events.Reset]):
    """The object whose ``reset_parameters`` ``step`` calls; the program does not define that method for it."""

    def without_reset_parameters(self) -> Answer[Place]:
        """Which parts of a model on the meta device no initialiser fills; unknown where a class was not seen."""
        machine, cls = self.program.machine, self.obj.atom.cls
        asked = any(_NAME in str(leaf) or _is_property(leaf) for leaf in self._asked())
        if self.step.what.caught or asked or self.step.guard.blurred or machine.store.get((self.obj, SOME)) is not None:
            return unknown("whether the call is meant to fail is not known")
        if machine.project.anywhere(_PUT_IN):
            return unknown("the program puts a method of this name into some class")
        if self.obj.parent is None and isinstance(cls, Ext):
            if lacks_reset(cls.qname):
                return yes(Place(self.step.when))
            return self.program.excluded(f"{self.label} has it")
        if self.obj.parent is not None or not isinstance(cls, ClassV) or not machine.closed_class(cls):
            return unknown(f"the class of {self.label} is not known with all that it inherits")
        if machine.class_member(cls, "__getattr__") is not None or self.obj.atom.filled_before:
            return unknown(f"{self.label} finds attributes in a way of its own")
        if (base := layer_base(machine, cls)) and not lacks_reset(base):
            return self.program.excluded(f"{self.label} inherits it from {base}")
        where = machine.site_of(cls)
        if where == self.obj.atom.site:
            return unknown(f"whether {self.label} or a class derived from it is built is not known")
        return yes(Place(Moment(where), f"{cls.name} and its bases do not define it"))

    def _asked(self) -> Iterator[Interned]:
        for formula, _ in self.step.guard.literals:
            yield from atoms(formula)


def _is_property(leaf: Interned) -> bool:
    """Does it ask what something is like (``p.is_meta``), and not for a setting, the machine or what knows no model?"""
    asked = leaf[1].atom if isinstance(leaf[1], Obj) else None
    if asked is None or asked.kind != "unknown":
        return False
    return not asked.apart and not asked.origin.startswith(_OF_THE_MACHINE)
