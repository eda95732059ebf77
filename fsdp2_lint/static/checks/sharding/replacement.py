"""What a program goes on to do with parameters that ``fully_shard`` has replaced."""

from __future__ import annotations

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.relations import Relation
from ...domain.values import SOME
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
        if (state := self._state_asked()) is not None:
            if "ignored_params" in self.step.what.options or self.step.what.options_open:
                return unknown("which parameters the call leaves out is not known")
            if any(mark.what.name in (state.what.name, SOME) and mark.index > self.step.index for mark in marks):
                return unknown(f"{state.what.name} is set again after sharding")
            return yes(Place(state.when, repr(state.what.name)))
        for mark in marks:
            if not self._is_first_after(mark):
                continue
            names = (mark.what.name, SOME)  # as by setattr()
            again = [each for each in marks if each.what.name in names and each.index > self.step.index]
            for asked in self.program.trace.of(events.ParamAsked, after=self.step):
                if asked.what.name == mark.what.name and asked.what.read > self.step.index and self._concerns(asked):
                    if again:
                        return unknown(f"{mark.what.name} is set again after sharding")
                    return yes(Place(asked.when, repr(mark.what.name)))
        if any(step.guard.compatible(self.step.guard) for step in self.program.trace.of(events.Quantized)):
            return unknown("weights may be loaded quantized, and what their library keeps on them was not followed")
        return self.program.nothing(self.obj, events.ParamMarked)

    def state_lost(self) -> Answer[str]:
        """Of classes of the project; what those of packages keep is not followed."""
        state = self._state_asked()
        if state is None:
            return unknown("what classes of parameters of packages keep on them is not followed")
        return yes(f"parameters of class {state.what.of}")

    def _state_asked(self) -> Step[events.ParamAsked] | None:
        """What a parameter of a class of its own kept, where it is read behind the first call that replaced it."""
        for asked in self.program.trace.of(events.ParamAsked, after=self.step):
            first = (each for each in self.program.trace.of(events.Sharded) if asked.what.of and self._has(each, asked))
            if not self.step.guard.blurred and next(first, None) is self.step:
                return asked
        return None

    def _has(self, sharding: Step[events.Sharded], asked: Step[events.ParamAsked]) -> bool:
        """Is the module that has the parameter in the group?"""
        relations = (self.program.relation(asked.subject, part) for part in sharding.what.group)
        return any(each in (Relation.SAME, Relation.INSIDE) for each in relations)

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
        """Is this the first call that surely replaced any of them since then? One mistake is told once."""
        if self.step.guard.blurred:
            return False
        return not any(
            position <= earlier.index < self.step.index and not earlier.guard.blurred and self._touches(earlier, since)
            for earlier in self.program.trace.of(events.Sharded)
        )

    def _touches(self, sharding: Step[events.Sharded], step: AnyStep) -> bool:
        assert step.subject is not None
        return any(self.program.related(step.subject, part) for part in sharding.what.group)
