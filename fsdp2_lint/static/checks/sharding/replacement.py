"""What a program goes on to do with parameters that ``fully_shard`` has replaced."""

from __future__ import annotations

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ..shared.program import OfStep


class StaticReplacement(OfStep[events.Sharded]):
    def hooks_lost(self) -> Answer[Place]:
        hooks = [step for step in self.program.trace.of(events.ParamHook) if self._concerns(step)]
        early = next((step for step in hooks if self._is_first_after(step)), None)
        if early is None:
            return self.program.nothing(self.obj, events.ParamHook, before=self.step)
        if any(step.index > self.step.index for step in hooks):
            return unknown("hooks are registered after sharding too")
        if not any(True for _ in self.program.trace.of(events.Backward, after=self.step)):
            return unknown(f"no backward pass through {self.label} was seen")
        return yes(Place(early.when, f"{early.what.name}()"))

    def attributes_lost(self) -> Answer[Place]:
        marks = [step for step in self.program.trace.of(events.ParamMarked) if self._concerns(step)]
        for mark in marks:
            if not self._is_first_after(mark):
                continue
            again = [each for each in marks if each.what.name == mark.what.name and each.index > self.step.index]
            for asked in self.program.trace.of(events.ParamAsked, after=self.step):
                if asked.what.name == mark.what.name and asked.what.read > self.step.index and self._concerns(asked):
                    if again:
                        return unknown(f"{mark.what.name} is set again after sharding")
                    return yes(Place(asked.when, repr(mark.what.name)))
        if any(step.guard.compatible(self.step.guard) for step in self.program.trace.of(events.Quantized)):
            return unknown("weights may be loaded quantized, and what their library keeps on them was not followed")
        return self.program.nothing(self.obj, events.ParamMarked)

    def state_lost(self) -> Answer[str]:
        return unknown("what classes of parameters keep on them is not followed")

    def aliases_used(self) -> Answer[Place]:
        for used in self.program.trace.of(events.Clipped, after=self.step):
            for held in used.what.held:
                concerned = self.program.related(held.model, self.obj)
                if held.read < self.step.index and concerned and self._is_first(used, held.read):
                    return yes(Place(used.when, "gradient clipping"))
        return self.program.nothing(self.obj, events.Clipped, after=self.step)

    def _concerns(self, step: AnyStep) -> bool:
        return self.program.related(step.subject, self.obj)

    def _is_first_after(self, step: Step[events.ParamHook | events.ParamMarked]) -> bool:
        return step.precedes(self.step) and step.what.read <= self.step.index and self._is_first(step, step.index)

    def _is_first(self, since: AnyStep, position: int) -> bool:
        """Is this the first call that replaced any of them since then? One mistake is told once."""
        if self.step.guard.blurred:
            return False
        return not any(
            position <= earlier.index < self.step.index and self._touches(earlier, since)
            for earlier in self.program.trace.of(events.Sharded)
        )

    def _touches(self, sharding: Step[events.Sharded], step: AnyStep) -> bool:
        assert step.subject is not None
        return any(self.program.related(step.subject, part) for part in sharding.what.group)
