"""Units and models: what is sharded, what is left out, what is called past the hooks."""

from __future__ import annotations

from ....vocab.answers import Answer, Many, many, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Moment, Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.formulas import Formula, atoms
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.relations import Relation
from ...domain.says import Says
from ...domain.values import SLICE, Obj, is_each
from .late_parts import LateParts
from .left_out import LeftOut, reduced_by_hooks, shardings_unknown
from .objects import RELATED
from .program import Program, Subject
from .structure import (
    from_a_library,
    perhaps_a_block,
    size,
    sized_by,
    stack_of_blocks,
)
from .trained import Trained


@record
class StaticModel(Subject):
    """A module as of ``step`` (the end of the trace where that is None), in runs that take ``path``."""

    program: Program
    obj: Obj
    step: AnyStep | None = None
    path: PathCondition = TRUE

    def units(self) -> Many[Moment]:
        return many(self._calls(Relation.SAME, Relation.CONTAINS), self.program.nothing(self.obj, events.Sharded))

    def touched(self) -> Many[Moment]:
        if self._asked_too_much():
            why = f"whether {self.label} is sharded here depends on a condition that is too large to compare"
            return many([], unknown(why))
        why = f"whether {self.label} is sharded is not known" if self._calls(Relation.MAY) else ""
        return many(self._calls(*RELATED), unknown(why) if why else self.program.nothing(self.obj, events.Sharded))

    def _asked_too_much(self) -> bool:
        """Does this moment stand under a condition that was given up, and that no sharding stands under?"""
        shared: frozenset[Formula] = frozenset()
        for step, _ in self.program.units(self.obj, *RELATED, Relation.MAY):
            shared |= step.guard.blurred
        return self.step is not None and bool(self.step.guard.blurred - shared)

    def _calls(self, *relations: Relation) -> list[Moment]:
        """Calls of ``fully_shard`` in these relations, up to this moment."""
        calls = [
            step
            for step, _ in self.program.units(self.obj, *relations)
            if (self.step is None or step.precedes(self.step)) and step.guard.compatible(self.path)
        ]
        return list(dict.fromkeys(step.when for step in calls))

    def inner_units(self) -> Many[Moment]:
        inner = self.program.units(self.obj, Relation.CONTAINS, Relation.MAY)
        steps = [step for step, _ in inner if not self._one_list(step)]
        if steps and all(step.what.filtered for step in steps):
            return many([], unknown(f"whether any part passes the filter of {steps[0].when.at} is not known"))
        found = [step.when for step in steps]
        whole = next((step for step, _ in self.program.units(self.obj, Relation.SAME)), None)
        # who gets the model once it is sharded as a whole comes too late to shard its parts first
        why = self.program.escaped(self.obj, before=whole) or shardings_unknown(self.program, self.obj, before=whole)
        return many(dict.fromkeys(found), unknown(why) if why else self.program.among(events.Sharded))

    def _one_list(self, step: Step[events.Sharded]) -> bool:
        """All blocks in one call: one group, gathered at once."""
        paths = [self.program.address(part)[1] for part in step.what.group]
        return bool(step.what.listed) and any(path and is_each(path[-1]) and SLICE not in path for path in paths)

    def sharded(self) -> Answer[Moment]:
        may = ""
        for step, part in self.program.units(self.obj, Relation.SAME, Relation.MAY):
            if self.step is not None and not step.driven_before(self.step) or not step.guard.compatible(self.path):
                continue
            if self.program.relation(self.obj, part) is Relation.SAME and not step.what.filtered:
                return yes(step.when)
            may = f"whether {self.label} is the module that {step.when.at} shards is not known"
        return unknown(may) if may else self.program.among(events.Sharded)

    def one_group(self) -> Answer[Moment]:
        """The sharding of the whole model in one group, if nothing shards its parts."""
        if self.program.partial and perhaps_a_block(self.program.machine, self.obj):
            return unknown(f"whether {self.label} is a model of its own or a block of another is not known")
        whole = self.program.top(self.obj)
        parts = (part for _, part in self.program.units(whole, Relation.CONTAINS) if whole is not self.obj)
        if any(not self.program.related(self.obj, part) for part in parts):
            return self.program.excluded(f"other parts of {self.program.label(whole)} are groups of their own")
        listed = [step for step, _ in self.program.units(self.obj, Relation.CONTAINS) if step.what.listed]
        if any(step.what.looped for step in listed):
            return unknown("which modules each round of a loop puts into one group is not known")
        if listed and all(map(self._one_list, listed)):
            return yes(listed[0].when)
        return self.sharded()

    def trained(self) -> Answer[object]:
        return Trained(self.program, self.obj).trained()

    def frozen(self) -> Answer[object]:
        return Trained(self.program, self.obj).frozen()

    def repeats(self) -> Answer[str]:
        if found := stack_of_blocks(self.program.machine, self.obj):
            return yes(found)
        if from_a_library(self.obj):
            return yes("its transformer layers")
        if self.obj.parent is None and self.obj.atom.kind in ("instance", "external"):
            return self.program.nothing(self.obj, events.Sharded, parts=True)
        return unknown(f"what {self.label} is made of is not known")

    def parameter_count(self) -> Answer[int]:
        total = size(self.program.machine, self.obj)
        if total is None and sized_by(self.program.machine, self.obj) is Says.SOURCE:
            return unknown(f"how large {self.label} is was not calculated")
        return yes(total) if total is not None else self.program.excluded("its size is not written in the source")

    def outside(self) -> Answer[list[str]]:
        """Which of its parts are in no group but that of the root; unknown where a part was not seen."""
        return LeftOut(self.program, self.obj, self.path).outside()

    def added_late(self) -> Many[tuple[Moment, str, Moment]]:
        """Which parts came after the sharding; unknown where they were there before, or are reduced by hand."""
        late = LateParts(self.program, self.obj)
        found = late.found()
        if why := reduced_by_hooks(self.program, self.obj) if found else late.perhaps():
            return many((), unknown(why))
        return many(found, self.program.nothing(self.obj, events.Attached, parts=True))

    def registered(self, method: str) -> tuple[Step[events.Registered] | None, Place | None]:
        """Where a method was registered with FSDP2, and where that came too early, if nowhere else."""
        vain: Place | None = None
        for step in self.program.trace.of(events.Registered):
            if step.what.method in (method, None) and self.program.touches(step.subject, self.obj):
                if not step.what.in_vain:
                    return step, None
                vain = Place(step.when, "it is registered here, before the module is sharded, where that does nothing")
        return None, vain

    def hooks_bypassed(self, method: str) -> Answer[Place | None]:
        """Does a call of this method run none of its hooks? Unknown where it may be registered or gathered by hand."""
        assert self.step is not None
        trace = self.program.trace
        what = self.step.what
        if isinstance(what, events.Use) and self.obj in what.inside:  # its own forward runs already, behind its hooks
            return self.program.excluded("it runs inside its own forward, behind its hooks")
        registered, vain = self.registered(method)
        if registered is not None:
            return self.program.excluded(f"{method} is registered at {registered.when.at}")
        for gathered in trace.of(events.Unshard, before=self.step):
            relation = self.program.relation(gathered.subject, self.obj)
            if relation is Relation.MAY or relation is not Relation.NONE and self.step.guard.implies(gathered.guard):
                return self.program.excluded(f"it is gathered at {gathered.when.at}")
        why = self.program.managed(self.obj)
        return unknown(why) if why else yes(vain)

    def wrapped(self) -> Answer[object]:
        """Is an FSDP1 wrapper somewhere around or inside it, or did the program ask whether there is one?"""
        if self.step is not None and any(_asks_for_fsdp1(formula) for formula, _ in self.step.guard.literals):
            return yes(self.step.when)
        for step in self.program.trace.of(events.Wrapped):
            if self.step is not None and not step.together(self.step):
                continue
            if step.what.by.endswith("FullyShardedDataParallel") and step.subject:
                if any(self.program.related(self.obj, at) for at in (step.subject, step.what.outer)):
                    return yes(step.when)
        return self.program.among(events.Wrapped)


def _asks_for_fsdp1(formula: Formula) -> bool:
    return any(
        isinstance(atom[1], tuple) and atom[1][0] == "isinst" and "FullyShardedDataParallel" in str(atom[1][2])
        for atom in atoms(formula)
    )
