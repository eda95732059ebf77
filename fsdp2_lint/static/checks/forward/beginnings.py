"""Which forward of a model comes first: FSDP2 makes the buffers that it gathers into there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep
from ...domain.values import Obj
from ..shared.program import AtStep


@dataclass(frozen=True, slots=True)
class StaticBeginning(AtStep[events.Event]):
    """The call of ``obj`` at ``step``, in inference mode."""

    obj: Obj

    def before_training(self) -> Answer[Place]:
        earlier = [call for call in self._trained() if call.index < self.step.index]
        if any(call.driven_before(self.step) for call in earlier):
            return self.program.excluded("a forward outside inference mode comes first")
        if earlier:
            return unknown("whether another forward comes first is not known")
        later = next((call for call in self._trained() if self.step.precedes(call)), None)
        if later is None:
            return unknown("no forward outside inference mode was seen to come after it")
        return yes(Place(later.when, "a forward that trains it"))

    def _trained(self) -> Iterator[AnyStep]:
        """Its forwards outside inference mode."""
        for call in self.program.trace.of(events.Called):
            if call.what.hooked and call.what.inference is None and call.subject is not None:
                if self.program.related(self.obj, call.subject):
                    yield call
