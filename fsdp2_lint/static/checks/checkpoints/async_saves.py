"""Saves in the background: is their end waited for, and do they keep out of the training's way?"""

from __future__ import annotations

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.values import NONE, Const
from ...libraries.torch.checkpoints.async_saves import AWAITED, DROPPED, KEPT, OVERTAKEN
from ...libraries.torch.launch.device import device_kind
from ..shared.program import AtStep


class StaticAsyncSave(AtStep[events.AsyncSave]):
    def dropped(self) -> Answer[Place]:
        if self.step.what.fate == DROPPED:
            return yes(Place(self.step.when, "nothing keeps the future that it returns"))
        return self._other_fate()

    def _other_fate(self) -> Answer[Place]:
        if self.step.what.fate == KEPT:
            return unknown("what becomes of the future was not followed")
        return self.program.excluded("its future was followed to where it is waited for")

    def overtaken(self) -> Answer[Place]:
        if self.step.what.fate == OVERTAKEN:
            return yes(Place(self.step.when))
        return self._other_fate()

    def shares_group(self) -> Answer[Place]:
        """On a group of CPUs that the model, too, is sharded over."""
        if self.step.what.group != NONE or self.step.what.fate == AWAITED:
            return self.program.excluded("it has a group of its own, or is waited for at once")
        trace = self.program.trace
        group = next((step for step in trace.of(events.ProcessGroup) if step.what.backend == Const("gloo")), None)
        kinds = [device_kind(self.program.machine, step.what.device) for step in trace.of(events.Mesh)]
        if group is None or "other" not in kinds or set(kinds) != {"other"}:
            if "cuda" in kinds:
                return self.program.excluded("the model is sharded over GPUs, and the save goes over CPUs")
            return unknown("which process group the training uses is not known")
        for step in trace.of(events.Called, events.Backward):
            goes_on = step.index > self.step.index or self.step.what.loops > 0
            if (
                not (isinstance(step.what, events.Called) and not step.what.hooked)
                and goes_on
                and step.together(self.step)
            ):
                return yes(Place(step.when, "the training goes on here"))
        return self.program.nowhere(events.Called, events.Backward)
