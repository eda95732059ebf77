"""Losses: which backward starts from a tensor that was reduced before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.values import NONE, Obj
from ...libraries.computed import ingredients
from ..shared.program import AtStep

# What gradients do not go through, and what they surely go through.
_CUTS = frozenset(
    """detach detach_ item tolist numpy data shape size numel dim ndim dtype device argmax argmin argsort long int bool
    requires_grad eq ne lt le gt ge isnan isfinite isinf zeros_like ones_like empty_like full_like tensor as_tensor
    rand_like randn_like is_tensor""".split()
)
_FLOWS = frozenset(
    """+ - * / @ ** op add sub mul div true_divide stack cat concat sum mean scale float double half bfloat16 to clone
    neg exp log sqrt square abs pow unsqueeze squeeze view reshape all_reduce broadcast""".split()
)


class StaticReduction(AtStep[events.Reduced]):
    def differentiated(self) -> Answer[Place]:
        """Is the backward taken of the reduced tensor? Unknown where it is reduced over a group of its own."""
        tensors = [
            leaf
            for tensor in (self.step.what.tensor, self.step.what.left)
            for _, leaf in self.program.machine.alternatives(tensor or NONE)
            if isinstance(leaf, Obj)
        ]
        doubt = ""
        for backward in self.program.trace.of(events.Backward, after=self.step):
            if any(call.index < backward.index for call in self._calls(after=self.step)):
                continue  # what is known by the same name is another round's loss by then
            if not any(True for _ in self._calls(before=backward)):
                continue
            starts = self._starts_from(backward.subject, tensors)
            if starts is False:
                continue
            if starts is None:
                doubt = doubt or f"whether gradients flow through the reduced tensor at {backward.when.at} is not known"
                continue
            if self.step.what.group is not None:
                return unknown("the loss is reduced over a group of its own")
            return yes(Place(backward.when, "the gradients are computed from the reduced tensor here"))
        doubt = doubt or self._given_away()
        return unknown(doubt) if doubt else self.program.nowhere(events.Backward)

    def _given_away(self) -> str:
        """Why unseen code may reduce a loss, too."""
        handed = self.program.machine.libraries.handed
        for backward in self.program.trace.of(events.Backward):
            if backward.subject is None:
                continue
            for at, _, _ in self._graph(backward.subject):
                if (who := handed.get(at)) and (at is backward.subject or self._differentiable(at) is not False):
                    return f"whether {who}, which was not followed, reduces the loss of {backward.when.at} is not known"
        return ""

    def _starts_from(self, loss: Obj | None, tensors: list[Obj]) -> bool | None:
        """None: it is not known, or only as far as unseen code goes."""
        found: bool | None = False
        for tensor in tensors:
            if loss is None:
                return None
            if made_of(loss, tensor):
                return True
            # What stands beside it in a sum has gradients of its own; a number of tokens has none.
            combined, flows = self._combined(loss, tensor), self._differentiable(tensor)
            if combined and flows:
                return True
            if combined is not False and flows is not False:
                found = None
        return found

    def _combined(self, loss: Obj, tensor: Obj) -> bool | None:
        """Was the loss made of the tensor, after that was reduced?"""
        found: bool | None = False
        for at, sure, since in self._graph(loss):
            if at is not tensor or 0 < since <= self.step.what.made:
                continue  # another value, or one that was made of the tensor before
            if sure and since:
                return True
            found = None
        return found

    def _differentiable(self, tensor: Obj) -> bool | None:
        """Does a model's output go into it, with its gradients?"""
        found: bool | None = False
        for at, sure, _ in self._graph(tensor):
            if _returned(at):
                if sure and at.atom.module:
                    return True
                found = None
        return found

    def _graph(self, loss: Obj) -> Iterator[tuple[Obj, bool, int]]:
        """All that gradients may flow to, whether they surely do, and the number of the value next to it on the way."""
        pending, seen = [(loss, True, 0)], {loss}
        while pending:
            at, sure, since = pending.pop()
            yield at, sure, since
            if _returned(at) and at.atom.module:
                continue
            number = at.atom.id if at.parent is None else since
            for how, part in ingredients(self.program.machine, at):
                name = how.rsplit(".", 1)[-1]
                if part not in seen and name not in _CUTS:
                    seen.add(part)
                    inner = at.parent is part and not isinstance(at.item, tuple)  # a part of what was returned together
                    flows = name in _FLOWS or how.startswith("torch.nn.functional.") or inner
                    pending.append((part, sure and flows, number))

    def _calls(self, **when: AnyStep) -> list[Step[events.Called]]:
        """Calls of models that are sharded."""
        return [
            call
            for call in self.program.trace.of(events.Called, **when)
            if call.subject is not None and self.program.concerned(call.subject)
        ]


def _returned(obj: Obj) -> bool:
    """Is it what a call of an object returned?"""
    return isinstance(obj.item, tuple) and obj.item[:2] in (("()", ""), ("()", "forward"))


def made_of(obj: Obj, part: Obj) -> bool:
    """Is ``obj`` that tensor, or computed from it by its methods, a division or a scaler?"""
    if any(at is part or _scaled(at.item, part) for at in obj.above):
        return True
    made = obj.atom.left_of
    return made is not None and made[0] == "/" and made_of(made[1], part)


def _scaled(item: Any, part: Obj) -> bool:
    if not isinstance(item, tuple) or item[:2] != ("()", "scale") or not isinstance(item[2], tuple):
        return False
    return any(isinstance(loss, Obj) and made_of(loss, part) for loss in item[2])
