"""A model that is asked for a method of FSDP1."""

from __future__ import annotations

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep
from ...domain.formulas import Formula, negate
from ...domain.relations import Relation
from ...domain.values import Ext, Obj
from ...frontend.packages import builds_models
from ...libraries.torch.sharding.module_tree import is_model_base
from ..shared.conditions import checked_on, choosing, other_wrappers
from ..shared.program import OfStep


class StaticAsked(OfStep[events.Fsdp1Method]):
    def lacks_it(self) -> Answer[Place]:
        """Only where each run that comes here has sharded it, or each that shards it comes here.

        Between runs that settings tell apart another branch may hold a DDP or FSDP1 model.
        """
        left = self.step.guard.undriven  # the runs in which nothing has sharded it yet
        may = ""
        for sharding, part in self.program.units(self.obj, Relation.SAME, Relation.MAY):
            if not sharding.driven_before(self.step):
                continue
            if self.program.relation(self.obj, part) is Relation.MAY:
                may = f"whether {self.label} is the module that {sharding.when.at} shards is not known"
                continue
            rest = left if sharding.guard.blurred else left.add(negate(left.beyond(sharding.guard.undriven)))
            if rest is not None and self._chosen_here(sharding):
                left, may = rest, f"{self.label} is sharded on some paths only ({sharding.when.at})"
                continue
            asked = (each for each in self.step.guard.literals if sharding.guard.decide(each[0]) is not each[1])
            if any(_speaks_of(formula, self.obj) for formula, _ in asked):
                return unknown(f"the program asks first what {self.label} is")
            why = self.program.managed(self.obj) or self._may_define()
            return unknown(why) if why else yes(Place(sharding.when, f"{self.label} is sharded by FSDP2 here"))
        return unknown(may) if may else self.program.nothing(self.obj, events.Sharded, before=self.step)

    def _chosen_here(self, sharding: AnyStep) -> bool:
        """May a condition that the sharding does not have lead other runs here?"""
        machine, path = self.program.machine, self.step.guard
        return bool(choosing(machine, path, sharding.guard, checked_on(machine, path))) and other_wrappers(self.program)

    def _may_define(self) -> str:
        """Why the class of the model may have the method all the same; empty if it cannot."""
        machine, name = self.program.machine, self.step.what.name
        cls = machine.class_of(self.obj)
        bases = machine.mro(cls) if cls is not None else [self.obj.atom.cls] if self.obj.parent is None else []
        for base in bases:
            if isinstance(base, Ext) and machine.libraries.external_is_module(base.qname) is None:
                if not builds_models(base.qname) and not is_model_base(base.qname):
                    return f"{base.qname} may define {name}()"
        declared = cls is None or self.obj.atom.cls is not cls  # then some other class may be meant
        if declared and machine.project.mentions(f"def {name}("):
            return f"a class of the project defines {name}()"
        return ""

    def goes_on(self) -> Answer[Place]:
        if not self.step.what.goes_on:
            return self.program.excluded("the program does not ask whether there is one")
        for switched in self.program.trace.of(events.Sync):
            if self.program.touches(self.obj, switched.subject):
                return unknown(f"gradient synchronisation is switched at {switched.when.at}")
        return yes(Place(self.step.when, "the program asks whether there is one"))


def _speaks_of(formula: Formula, obj: Obj) -> bool:
    """Does a condition ask something about this very object, such as its class?"""
    if isinstance(formula, Obj):
        return obj in formula.above
    return isinstance(formula, tuple) and any(_speaks_of(part, obj) for part in formula)
