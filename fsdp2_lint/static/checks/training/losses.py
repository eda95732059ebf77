"""Losses: which backward starts from a tensor that was reduced before."""

from __future__ import annotations

from typing import Any

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.values import NONE, Obj
from ..shared.program import AtStep


class StaticReduction(AtStep[events.Reduced]):
    def differentiated(self) -> Answer[Place]:
        """Is the backward taken of the reduced tensor? Unknown where it is reduced over a group of its own."""
        tensors = [
            leaf
            for _, leaf in self.program.machine.alternatives(self.step.what.tensor or NONE)
            if isinstance(leaf, Obj)
        ]
        for backward in self.program.trace.of(events.Backward, after=self.step):
            if backward.subject is None or not any(made_of(backward.subject, tensor) for tensor in tensors):
                continue
            if any(call.index < backward.index for call in self._calls(after=self.step)):
                continue  # what is known by the same name is another round's loss by then
            if not any(True for _ in self._calls(before=backward)):
                continue
            if self.step.what.group is not None:
                return unknown("the loss is reduced over a group of its own")
            return yes(Place(backward.when, "the gradients are computed from the reduced tensor here"))
        return self.program.nowhere(events.Backward)

    def _calls(self, **when: AnyStep) -> list[Step[events.Called]]:
        """Calls of models that are sharded."""
        return [
            call
            for call in self.program.trace.of(events.Called, **when)
            if call.subject is not None and self.program.concerned(call.subject)
        ]


def made_of(obj: Obj, part: Obj) -> bool:
    """Is ``obj`` that tensor, or computed from it by its methods, a division or a scaler?

    Arguments are not followed: the number of tokens that a loss is divided by has no gradient.
    """
    if any(at is part or _scaled(at.item, part) for at in obj.above):
        return True
    made = obj.atom.left_of
    return made is not None and made[0] == "/" and made_of(made[1], part)


def _scaled(item: Any, part: Obj) -> bool:
    if not isinstance(item, tuple) or item[:2] != ("()", "scale") or not isinstance(item[2], tuple):
        return False
    return any(isinstance(loss, Obj) and made_of(loss, part) for loss in item[2])
