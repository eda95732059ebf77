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
            if step.driven_before(self.step) and self.path.undriven.implies(step.guard.undriven)
        ]

    def for_bfloat16(self) -> Answer[Place]:
        if not self.made.on or self.step.what.scaler.cls == Ext(FSDP1):
            return self.program.excluded("it is switched off, or a scaler of FSDP1")
        shardings = self._shardings()
        chosen = [*(choice for each in shardings for choice in self._policy(each)), *self._autocasts()]
        dtypes = {dtype for dtype, _ in chosen}
        if not shardings or "" in dtypes:
            return unknown(f"in which dtype {self.label} computes is not known")
        if dtypes - {"float32"} != {"bfloat16"}:
            return self.program.excluded("the groups do not compute in bfloat16")
        why = self.program.managed(self.obj)
        place = next(when for dtype, when in chosen if dtype == "bfloat16")
        return unknown(why) if why else yes(Place(place, "bf16 is chosen here"))

    def _policy(self, sharding: Step[events.Sharded]) -> Iterator[tuple[str, Moment]]:
        """The dtype in which a group computes, where its policy sets one; empty where that is not known."""
        if sharding.what.options_open:
            yield "", sharding.when
        for guard, policy in options(sharding.what.options.get("mp_policy", NONE)):
            path = self.path.join(guard)
            if path is None or policy == NONE:
                continue
            sets = policy.atom.state(Policy) if isinstance(policy, Obj) else None
            if sets is None:
                yield "", sharding.when
                continue
            for inner, dtype in options(sets.fields.get("param_dtype", NONE)):
                if dtype != NONE and path.compatible(inner):
                    yield dtype_name(dtype), sets.made

    def _autocasts(self) -> Iterator[tuple[str, Moment]]:
        for each in self.program.trace.of(events.Autocast):
            if each.together(self.step):
                yield each.what.dtype, each.when
