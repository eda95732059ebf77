"""One call of ``fully_shard``: its place among the others."""

from __future__ import annotations

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Moment
from ...domain import events
from ...domain.events import Step
from ...domain.formulas import atoms, is_dropped
from ...domain.relations import Relation, covers
from ...domain.values import BELOW, SLICE, ClassV, Ext, Obj, Text
from ..shared.program import OfStep

_TRAITS = ("config", "_no_split_modules", "__class__")


_CONTAINERS = ("torch.nn.ModuleList", "torch.nn.ModuleDict")  # without a forward of their own


class StaticUnit(OfStep[events.Sharded]):
    def inside(self) -> Answer[Moment]:
        """Is it sharded inside of what is sharded already? Unknown where which of two came first is not known."""
        may = ""
        whole = self.obj.parent if str(self.obj.item).startswith(BELOW) else None  # of "each module below"
        for earlier, outer, relation in self.program.touching(self.obj):
            if relation is Relation.SAME and not whole:
                continue
            if not earlier.precedes(self.step) or not self.program.was_part(self.obj, outer, earlier):
                continue
            if self._from_one_call(earlier) and not self.step.guard.implies(earlier.guard):
                continue  # perhaps alternatives, which are not sharded one after the other
            if relation is Relation.INSIDE or whole and self.program.relation(outer, whole) is Relation.SAME:
                if not self._asks_whether_sharded(outer, earlier):
                    return yes(earlier.when)
                may = f"the way here asks whether what {earlier.when.at} shards is sharded, and the answer is not known"
            elif relation is Relation.MAY and outer is not self.obj:
                may = f"whether {self.label} is part of what {earlier.when.at} shards is not known"
        if self.obj.item == BELOW:
            return self._each_below()
        return unknown(may) if may else self.program.nothing(self.obj, events.Sharded)

    def _asks_whether_sharded(self, outer: Obj, earlier: Step[events.Sharded]) -> bool:
        """Does the path depend on it in a way that is not known? Then perhaps it is that of the first time."""
        more = [atom for formula in self.step.guard.blurred - earlier.guard.blurred for atom in atoms(formula)]
        asked = [atom[1] for formula, _ in self.step.guard.literals for atom in atoms(formula)]
        about = [each[1] for each in asked if isinstance(each, tuple) and each[0] == "sharded"]
        same = any(self.program.touches(obj, outer) for obj in about)
        return same or any(map(is_dropped, more))

    def _from_one_call(self, earlier: Step[events.Sharded]) -> bool:
        return earlier.place == self.step.place or earlier.same_call(self.step)

    def _each_below(self) -> Answer[Moment]:
        """``for m in model.modules()`` visits the model itself first, then its parts."""
        asked = self.step.guard.blurred or [
            formula
            for formula, _ in self.step.guard.literals
            if speaks_of(formula, self.obj) or _of_a_name(formula) or _of_a_result(formula)
        ]
        return unknown("the filter over modules() may match nested modules") if asked else yes(self.step.when)

    def repeated(self) -> Answer[Moment]:
        """Is it sharded twice? Unknown where the two may be different modules or on different paths."""
        may = ""
        address = self.program.machine.libraries.address
        for earlier, other, relation in self.program.touching(self.obj):
            if not earlier.precedes(self.step):
                continue
            if self._from_one_call(earlier):  # what it gets there are alternatives, or elements of a list
                if other is not self.obj and relation in (Relation.MAY, Relation.SAME):
                    may = f"whether the loop comes to {self.label} twice is not known"
                continue
            unclear = self._depends_on_more(earlier)
            if relation is Relation.SAME and unclear is not None:
                may = f"whether {unclear.when.at} shards {self.label} depends on a condition that is not known"
                continue
            if relation is Relation.SAME and not _mentions(self.step, self.obj):
                return yes(earlier.when)
            if covers(address(other), address(self.obj)) and self.step.guard.implies(earlier.guard):
                return yes(earlier.when)
            if relation in (Relation.MAY, Relation.SAME):
                may = f"whether {self.label} is the module that {earlier.when.at} shards is not known"
        return unknown(may) if may else self.program.nothing(self.obj, events.Sharded)

    def _depends_on_more(self, earlier: Step[events.Sharded]) -> Step[events.Sharded] | None:
        """One of the two steps, if a filter or a condition too large to be known decides on it and not on the other."""
        mine, before = self.step.guard.blurred, earlier.guard.blurred
        if mine - before:  # that the module is not sharded yet, perhaps
            return self.step
        return earlier if before - mine else None

    def _no_container(self, name: str) -> Answer[str]:
        """Not this one; code that was not followed may shard another part of the model."""
        if why := self.program.escaped(self.obj):
            return unknown(why)
        return self.program.excluded(f"{name} is no bare container")

    def container_without_forward(self) -> Answer[str]:
        """Is it a container that has no forward of its own? Unknown where its class was not seen."""
        if self.step.what.listed:
            return self.program.excluded("it is given a list of modules")
        if self.step.guard.blurred:
            return unknown("which modules pass the filter is not known")
        cls = self.program.machine.class_of(self.obj)
        if isinstance(cls, ClassV):
            bases = [base.qname for base in self.program.machine.mro(cls) if isinstance(base, Ext)]
            container = next((base for base in bases if base in _CONTAINERS), None)
            defined = self.program.machine.class_member(cls, "forward") is not None
            if container and not defined:
                return yes(cls.name)
            return self._no_container(cls.name)
        if asserted := self._asserted_container():
            return yes(asserted)
        own = self.obj.atom.cls
        if self.obj.parent is not None and self.obj.path != (SLICE,):  # a slice of a container is one too
            return unknown(f"the class of {self.label} is not known")
        if isinstance(own, Ext):
            name = own.qname.rsplit(".", 1)[-1]
            return yes(name) if own.qname in _CONTAINERS else self._no_container(name)
        return unknown(f"the class of {self.label} is not known")

    def _asserted_container(self) -> str:
        """The container that the path itself says this is: ``assert isinstance(blocks, nn.ModuleList)``."""
        for formula, truth in self.step.guard.literals:
            asked = formula[1] if truth and formula[0] == "truth" else None
            if isinstance(asked, tuple) and asked[0] == "isinst" and asked[1] is self.obj:
                names = [cls.qname if isinstance(cls, Ext) else "" for cls in asked[2]]
                if all(name in _CONTAINERS for name in names):
                    return names[0].rsplit(".", 1)[-1]
        return ""


def speaks_of(formula: object, obj: Obj) -> bool:
    """Does a formula ask something about this very object (or its name, its class)?"""
    if isinstance(formula, Obj):
        return obj in formula.above or formula.item == "named()"
    return isinstance(formula, tuple) and any(speaks_of(part, obj) for part in formula)


def _of_a_name(formula: object) -> bool:
    """Does it ask about a text that is not known, such as the name of each module?"""
    return isinstance(formula, Text) or isinstance(formula, tuple) and any(map(_of_a_name, formula))


def _of_a_result(formula: object) -> bool:
    """Does it ask what a function returned that was not followed? Each module may have been in its hands."""
    if isinstance(formula, tuple):
        return any(map(_of_a_result, formula))
    if not isinstance(formula, Obj) or formula.parent is not None or formula.atom.kind not in ("unknown", "opaque"):
        return False
    return formula.atom.origin.endswith("()")  # a function of the project: those of packages have their names


def _mentions(step: Step[events.Sharded], obj: Obj) -> bool:
    """Is it asked before whether the object is sharded already, in whatever words?"""
    return any(speaks_of(formula, obj) and not _only_traits(formula, obj) for formula, _ in step.guard.literals)


def _only_traits(formula: object, obj: Obj) -> bool:
    """Does a formula ask nothing about an object but what sharding leaves as it is?"""
    if isinstance(formula, Obj):
        asked = [item for item in formula.path[obj.depth :] if not str(item).startswith(BELOW)]
        return obj not in formula.above or bool(asked) and asked[0] in _TRAITS
    return not isinstance(formula, tuple) or all(_only_traits(part, obj) for part in formula)
