"""What ``dcp.load`` fills: is anything of it there, and used afterwards?"""

from __future__ import annotations

from ....vocab.answers import Answer, unknown, yes
from ...domain import events
from ..shared.program import AtStep
from .state_helpers import without_state


class StaticLoadTarget(AtStep[events.DcpLoad]):
    def receives_nothing(self) -> Answer[str]:
        """Unknown where a part of the dict was not followed, or a planner may put more in."""
        if self.step.what.planned:
            return unknown("a planner of its own may put in what is missing")
        for path, words in self.step.what.nothing:
            if self.step.guard.compatible(path):
                return yes(words)
        why = ""
        for path, optimizer, name in self.step.what.optimizers:
            with_it = self.step.guard.join(path)  # a run that loads, and has the optimizer in what it fills
            if with_it is None:
                continue
            cold = without_state(self.program, optimizer, self.step, with_it)
            if cold.surely:
                return yes(f"{name}, the state of an optimizer that has not made a step")
            why = why or cold.why
        return unknown(why) if why else self.program.excluded("what it fills was followed, and is there")
