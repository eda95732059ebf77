"""A scaler of the loss, and what is computed in which dtype."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.answers import Answer, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Moment, Place
from ...domain import events
from ...domain.choices import options
from ...domain.events import Step
from ...domain.path_conditions import PathCondition
from ...domain.values import NONE, Ext, Obj
from ...libraries.torch.precision.precision import FSDP1, Policy, Scaler, dtype_name
from ..shared.conditions import checked_on
from ..shared.objects import RELATED
from ..shared.program import OfStep


@record
class StaticScaler(OfStep[events.Scaled]):
    """``obj`` is a model that the scaler's optimizer trains, in runs that take ``path``."""

    path: PathCondition
    made: Scaler

    def of_fsdp1(self) -> Answer[Place]:
        if self.step.what.scaler.cls != Ext(FSDP1) or self.made.off:
            return self.program.excluded("it is no scaler of FSDP1, or is switched off")
        if not self.made.on:
            return unknown("whether this scaler is enabled is a setting")
        for wrapped in self.program.trace.of(events.Wrapped):
            if wrapped.what.by.endswith("FullyShardedDataParallel") and wrapped.together(self.step):
                return self.program.excluded(f"FSDP1 wraps the model at {wrapped.when.at}")
        shardings = self._shardings()
        if not shardings:
            return unknown(f"whether {self.label} is sharded by FSDP2 whenever this scaler is used is not known")
        why = self.program.managed(self.obj)
        return unknown(why) if why else yes(Place(shardings[-1].when, "the weights are sharded by FSDP2 here"))

    def _shardings(self) -> list[Step[events.Sharded]]:
        """Those that each run that comes here has made."""
        return [
            step
            for step, _ in self.program.units(self.obj, *RELATED)
            if step.driven_before(self.step) and self.path.undriven.implies(self._unchecked(step.guard.undriven))
        ]

    def _unchecked(self, guard: PathCondition) -> PathCondition:
        """Without what is checked on the way: a run that goes on has passed it."""
        return guard.without_literals(checked_on(self.program.machine, guard))

    def for_bfloat16(self) -> Answer[Place]:
        """Do runs that compute in bfloat16 scale their loss, whatever else their settings say?"""
        enabled = self.made.enabled
        on = None if enabled is None else self.path.add(enabled)
        if self.step.what.scaler.cls == Ext(FSDP1) or enabled is not None and on is None:
            return self.program.excluded("it is switched off, or a scaler of FSDP1")
        shardings = self._shardings()
        chosen = [*(choice for each in shardings for choice in self._policy(each)), *self._autocasts()]
        if not shardings or any(not each.dtype for each in chosen):
            return unknown(f"in which dtype {self.label} computes is not known")
        found = [each for each in chosen if each.dtype == "bfloat16" and (on is None or each.path.compatible(on))]
        found = [each for each in found if not any(each.clashes(other) for other in chosen)]
        if not found:
            return self.program.excluded("the groups do not compute in bfloat16 where it is on")
        sure = next((each for each in found if enabled is not None and each.path.decide(enabled)), None)
        if sure is None:
            return unknown("whether this scaler is enabled is a setting")
        why = self.program.managed(self.obj)
        return unknown(why) if why else yes(Place(sure.when, "bf16 is chosen here"))

    def _policy(self, sharding: Step[events.Sharded]) -> Iterator[_Choice]:
        """The dtype in which a group computes, where its policy sets one."""
        if sharding.what.options_open:
            yield _Choice("", self.path, sharding.when)
        for guard, policy in options(sharding.what.options.get("mp_policy", NONE)):
            path = self.path.join(guard)
            if path is None or policy == NONE:
                continue
            sets = policy.atom.state(Policy) if isinstance(policy, Obj) else None
            if sets is None:
                yield _Choice("", path, sharding.when)
                continue
            for inner, dtype in options(sets.fields.get("param_dtype", NONE)):
                if dtype != NONE and (there := path.join(inner)) is not None:
                    yield _Choice(dtype_name(dtype), there, sets.made)

    def _autocasts(self) -> Iterator[_Choice]:
        for each in self.program.trace.of(events.Autocast):
            if each.together(self.step) and (path := self.path.join(each.guard)) is not None:
                yield _Choice(each.what.dtype, path, each.when)


@record
class _Choice:
    """A dtype that runs of a path compute in; empty where it is not known."""

    dtype: str
    path: PathCondition
    when: Moment

    def clashes(self, other: _Choice) -> bool:
        """Do runs of this path compute in another low precision as well?"""
        return other.dtype not in (self.dtype, "float32") and self.path.compatible(other.path)
