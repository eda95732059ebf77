"""Faults of the stretch between backward and step: what is gathered there, and what is clipped or given up."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fsdp2_lint.static.domain import events
from fsdp2_lint.static.domain.events import AnyStep

from .operator import TORCH, Mutant, Operator, Plant
from .text import Text
from .training import parameters_of
from .view import View


class AtStep(Operator):
    """Statements around the clipping of a model that is sharded itself, and before the step that follows it."""

    def around(self, text: Text, model: str, clip: ast.stmt, step: ast.stmt) -> Plant:
        raise NotImplementedError

    def places(self, view: View) -> Iterator[Plant]:
        if any(view.trace.of(events.Unshard, events.Reshard)):
            return  # it has an order of its own
        for clip in view.trace.of(events.Clipped):
            step = next((each for each in view.trace.of(events.Stepped) if clip.precedes(each)), None)
            found = view.in_order(clip, step) if step is not None and view.sharded(clip.subject, clip) else None
            call = view.call(clip)
            model = parameters_of(call[1].args[0]) if call is not None and call[1].args else None
            if found is not None and model is not None and call is not None and call[0] is found[0]:
                text, clipping, stepping = found
                plant = self.around(text, text.words(model), clipping, stepping)
                yield Plant(plant.edits, view.home(clip.subject), (clip.when.at,))


def _between(mutant: Mutant, kind: type[events.Event]) -> bool:
    """Is a planted call since the last backward of a round, and a step of an optimizer behind it?"""
    view, planted = mutant.view, mutant.planted(kind)
    losses: list[AnyStep] = [*view.trace.of(events.Backward)]
    steps: list[AnyStep] = [*view.trace.of(events.Stepped)]
    return any(
        any(loss.precedes(each) for loss in losses) and any(each.precedes(step) for step in steps) for each in planted
    )


class UnshardedAtStep(AtStep):
    name, code = "unsharded-at-step", "FSDP407"
    fault = "the model is gathered while the optimizer steps"

    def around(self, text: Text, model: str, clip: ast.stmt, step: ast.stmt) -> Plant:
        return Plant((text.before(step, f"{model}.unshard()"),), "")

    def shown(self, mutant: Mutant) -> bool:
        return _between(mutant, events.Unshard)


class UnshardedAtClip(AtStep):
    name, code = "unsharded-at-clip", "FSDP614"
    fault = "the model is gathered while its gradients are clipped"

    def around(self, text: Text, model: str, clip: ast.stmt, step: ast.stmt) -> Plant:
        return Plant((text.before(clip, f"{model}.unshard()"), text.before(step, f"{model}.reshard()")), "")

    def shown(self, mutant: Mutant) -> bool:
        return _between(mutant, events.Unshard) and _between(mutant, events.Reshard)


class GivenUp(Operator):
    name, code = "window-given-up", "FSDP615"
    fault = "gradients that were not reduced are to be cleared"

    def places(self, view: View) -> Iterator[Plant]:
        """Behind the backward of a program that switches, in the block of its step or of a caller of it."""
        switches = [each for each in view.trace.of(events.Sync) if each.subject is not None]
        for loss in view.trace.of(events.Backward) if switches else ():
            found = view.call(loss)
            statement = found[0].statement(loss.when.at) if found is not None else None
            func = found[1].func if found is not None else None
            named = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name)
            call = view.call(switches[0])
            switch = call[1].func if call is not None else None
            model = switch.value if isinstance(switch, ast.Attribute) else None
            same = found is not None and call is not None and call[0] is found[0]
            if found is None or statement is None or not named or model is None or not same:
                continue
            assert isinstance(func, ast.Attribute)
            text, words = found[0], found[0].words
            lines = TORCH, f"if not planted.isfinite({words(func.value)}):", f"    {words(model)}.zero_grad()"
            yield Plant((text.after(statement, *lines),), view.home(switches[0].subject), (loss.when.at,))

    def shown(self, mutant: Mutant) -> bool:
        losses = mutant.kept(events.Backward)
        return any(loss.precedes(each) for each in mutant.planted(events.Zeroed) for loss in losses)


OPERATORS = (UnshardedAtStep(), UnshardedAtClip(), GivenUp())
