"""What becomes of the gathered parameters of a model, by the keywords of the calls that shard it."""

from __future__ import annotations

from ....vocab.answers import Answer, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import Step
from ...domain.formulas import negate
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.relations import Relation
from ...domain.values import Cond, Const, GuardedUnion, Obj, Value
from ..shared.program import Program, Subject
from ..shared.structure import stands_alone


def given(step: Step[events.Sharded], keyword: str) -> list[tuple[PathCondition, Value | None]]:
    """What a call is given for a keyword, each on its own path; None where it is left out."""
    value: Value | None = step.what.options.get(keyword)
    if not isinstance(value, GuardedUnion):
        return [(step.guard, value)]
    found: list[tuple[PathCondition, Value | None]] = []
    left: PathCondition | None = TRUE
    for guard, leaf in value.options:
        if (path := step.guard.join(guard)) is not None:
            found.append((path, leaf))
        left = left.add(negate(guard.formula)) if left is not None else None
    if left is not None and (path := step.guard.join(left)) is not None:
        found.append((path, None))  # a keyword that only some paths put into a dict
    return found


@record
class StaticResharding(Subject):
    program: Program
    obj: Obj
    steps: tuple[Step[events.Sharded], ...]  # all calls on the model and its parts

    def never(self) -> Answer[Place]:
        """Is this group never resharded? Unknown where the setting is, or a call may change it."""
        inner = [step for step in self.steps if not self._is_whole(step)]
        if not inner or len(inner) == len(self.steps):
            # one group alone keeps its parameters anyway, and a model without a root has other faults
            return self.program.nothing(self.obj, events.Sharded)
        may = ""
        for step in self.steps:
            said = [value for _, value in given(step, "reshard_after_forward")]
            if any(value is None for value in said) and step.what.options_open:
                return unknown(f"whether {step.when.at} says reshard_after_forward is not known")
            kept = [value == Const(False) or value is None and self._is_whole(step) for value in said]
            if not all(kept) and any(isinstance(value, (Obj, Cond)) for value in said):
                may = f"which reshard_after_forward {step.when.at} is given is not known"
            elif not all(kept):
                return self._resharded(step)
        whole = next((step for step in self.steps if self._is_whole(step)), None)
        if whole is not None and whole.what.looped and not stands_alone(self.obj):
            return unknown(f"whether {self.label} is a model or one of its blocks is not known")
        # once the model itself is sharded, nothing can shard its parts any more
        if why := may or self.program.escaped(self.obj, before=whole) or self._freed():
            return unknown(why)
        return yes(Place(inner[0].when))

    def _resharded(self, sharded: Step[events.Sharded]) -> Answer[Place]:
        """The call lets its group be resharded. Unknown where a later one may switch that off for this group."""
        for step in self.program.trace.of(events.ReshardingSwitched):
            if step.what.keeps and any(self.program.touches(step.subject, part) for part in sharded.what.group):
                return unknown(f"{step.when.at} may keep it gathered after a forward")
        return self.program.excluded(f"{sharded.when.at} lets its group be resharded")

    def _is_whole(self, step: Step[events.Sharded]) -> bool:
        return any(self.program.relation(self.obj, part) is Relation.SAME for part in step.what.group)

    def _freed(self) -> str:
        """Why the parameters may be freed all the same, or kept with good reason."""
        for stage in self.program.trace.of(events.Pipelined):
            if self.program.touches(self.obj, stage.subject):
                return f"a pipeline runs several micro-batches through it before each is freed ({stage.when.at})"
        for step in self.program.trace.of(events.Reshard, events.ReshardingSwitched):
            if step.subject is None or not self.program.touches(self.obj, step.subject):
                continue
            if not any(each.frames == step.frames for each in self.program.trace.of(events.Unshard, before=step)):
                return f"{step.when.at} changes when it is resharded"  # else it undoes what was gathered for a look
        return ""
