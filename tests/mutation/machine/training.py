"""Faults of a training step: the optimizer, gradients and their norm."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fsdp2_lint.static.domain import events
from fsdp2_lint.static.domain.events import AnyStep, Step
from fsdp2_lint.static.domain.relations import Relation

from .operator import RANK, TORCH, Mutant, Operator, Plant, callee, keyword
from .text import Text, short
from .view import Unit, View, is_plain


class OptimizerFirst(Operator):
    name, code = "optimizer-first", "FSDP601"
    fault = "the optimizer is made before its model is sharded"

    def places(self, view: View) -> Iterator[Plant]:
        for made in view.trace.of(events.Optimizer):
            unit = self._sharded_first(view, made)
            found = view.in_order(unit, made) if unit is not None else None
            if found is not None and short(found[2]):
                text, sharding, making = found
                yield Plant(text.moved(making, sharding), view.home(made.what.held[0].model))

    def _sharded_first(self, view: View, made: Step[events.Optimizer]) -> Unit | None:
        models = [held.model for held in made.what.held[:1]]
        units = (unit for model in models for unit in view.units(model, Relation.SAME, Relation.CONTAINS))
        return next((unit for unit in units if unit.precedes(made)), None)

    def shown(self, mutant: Mutant) -> bool:
        view = mutant.view
        made = mutant.planted(events.Optimizer)
        models = [(one, held.model) for one in made for held in one.what.held]
        units = ((one, view.units(model, Relation.SAME, Relation.CONTAINS)) for one, model in models)
        return any(one.precedes(unit) for one, found in units for unit in found)


class ClipLast(Operator):
    name, code = "clip-after-step", "FSDP612"
    fault = "gradients are clipped when the optimizer has made its step"

    def places(self, view: View) -> Iterator[Plant]:
        for clip in view.trace.of(events.Clipped):
            step = next((each for each in view.trace.of(events.Stepped) if clip.precedes(each)), None)
            found = view.in_order(clip, step) if step is not None and self._of_oneloss_name(view, clip, step) else None
            if found is not None and short(found[2]) and view.part_sharded(clip.subject, clip):
                text, clipping, stepping = found
                yield Plant(text.moved(stepping, clipping), view.home(clip.subject), (clip.when.at,))

    def _of_oneloss_name(self, view: View, clip: AnyStep, step: AnyStep) -> bool:
        """Is the clipping between the loss and the step?"""
        losses = [loss.index for loss in view.trace.of(events.Backward) if loss.index < step.index]
        return bool(losses) and losses[-1] < clip.index

    def shown(self, mutant: Mutant) -> bool:
        clips = mutant.kept(events.Clipped)
        steps = mutant.planted(events.Stepped)
        return any(step.precedes(clip) for step in steps for clip in clips)


class AtClip(Operator):
    """The call that clips the gradients of a model becomes another one."""

    def instead(self, model: str, rest: str) -> str:
        raise NotImplementedError

    def places(self, view: View) -> Iterator[Plant]:
        if any(view.trace.of(events.Unshard)):
            return  # by hand the parameters may be whole there
        for clip in view.trace.of(events.Clipped):
            found = view.call(clip) if view.part_sharded(clip.subject, clip) else None
            model = parameters_of(found[1].args[0]) if found is not None and found[1].args else None
            if found is not None and model is not None and callee(*found) == "clip_grad_norm_":
                text, call = found
                rest = ", ".join(map(ast.unparse, call.args[1:])) or "1.0"
                edit = text.replaced(call, self.instead(text.words(model), rest))
                yield Plant((edit,), view.home(clip.subject))


def parameters_of(given: ast.expr) -> ast.expr | None:
    """The model of ``model.parameters()``."""
    func = given.func if isinstance(given, ast.Call) and not given.args else None
    plain = isinstance(func, ast.Attribute) and func.attr == "parameters" and is_plain(func.value)
    return func.value if plain and isinstance(func, ast.Attribute) else None


class NormByHand(AtClip):
    name, code = "norm-by-hand", "FSDP603"
    fault = "the norm of the gradients is added up from the shards of one rank"

    def instead(self, model: str, rest: str) -> str:
        return f"sum(each.grad.norm().item() ** 2 for each in {model}.parameters()) ** 0.5"

    def shown(self, mutant: Mutant) -> bool:
        return any(mutant.planted(events.ValueRead))


class ClippedAsFsdp1(AtClip):
    name, code = "clip-of-fsdp1", "FSDP606"
    fault = "the method of FSDP1's wrapper is to clip"

    def instead(self, model: str, rest: str) -> str:
        return f"{model}.clip_grad_norm_({rest})"

    def shown(self, mutant: Mutant) -> bool:
        return any(mutant.planted(events.Fsdp1Method))


class AtForward(Operator):
    """One more statement before the one that calls the model for a loss."""

    def lines(self, model: str) -> tuple[str, ...]:
        raise NotImplementedError

    def places(self, view: View) -> Iterator[Plant]:
        for step in view.trained_calls:
            found = view.call(step) if view.sharded(step.subject, step) else None
            statement = found[0].statement(step.when.at) if found is not None else None
            if found is not None and statement is not None and is_plain(found[1].func):
                text, call = found
                yield Plant((text.before(statement, *self.lines(text.words(call.func))),), view.home(step.subject))


class SyncOff(AtForward):
    name, code = "sync-left-off", "FSDP604"
    fault = "gradients are never synchronised"

    def lines(self, model: str) -> tuple[str, ...]:
        return (f"{model}.set_requires_gradient_sync(False)",)

    def places(self, view: View) -> Iterator[Plant]:
        if not any(view.trace.of(events.Sync)) and any(view.trace.of(events.Stepped)):
            yield from super().places(view)

    def shown(self, mutant: Mutant) -> bool:
        off = [*mutant.view.trace.of(events.Sync)]
        steps = [*mutant.view.trace.of(events.Stepped)]
        return bool(off) and all(map(mutant.comes_from_it, off)) and any(off[0].precedes(step) for step in steps)


class NoSync(AtForward):
    name, code = "no-sync", "FSDP605"
    fault = "the context of DDP and FSDP1 is entered, which the model does not have"

    def lines(self, model: str) -> tuple[str, ...]:
        return f"with {model}.no_sync():", "    pass"

    def shown(self, mutant: Mutant) -> bool:
        return any(mutant.planted(events.Fsdp1Method))


class Copied(AtForward):
    name, code = "copied", "FSDP609"
    fault = "a sharded model is copied"

    def lines(self, model: str) -> tuple[str, ...]:
        return "import copy as planted", f"planted_copy = planted.deepcopy({model})"

    def shown(self, mutant: Mutant) -> bool:
        copies = mutant.planted(events.Copied)
        return any(mutant.view.part_sharded(copy.subject, copy) for copy in copies)


class LossReduced(Operator):
    name, code = "loss-reduced", "FSDP610"
    fault = "the loss is summed over ranks before its gradients are computed"

    def places(self, view: View) -> Iterator[Plant]:
        for call in view.trained_calls:
            loss = next((each for each in view.trace.of(events.Backward) if call.index < each.index), None)
            found = view.call(loss) if loss is not None else None
            name = loss_name(*found) if found is not None else None
            statement = found[0].statement(loss.when.at) if found is not None and loss is not None else None
            if found is not None and loss is not None and name is not None and statement is not None:
                edit = found[0].before(statement, TORCH, f"planted.distributed.all_reduce({name})")
                yield Plant((edit,), view.home(call.subject), (loss.when.at,))

    def shown(self, mutant: Mutant) -> bool:
        reduced = mutant.planted(events.Reduced)
        losses = mutant.kept(events.Backward)
        return any(each.precedes(loss) for each in reduced for loss in losses)


class OwnRate(Operator):
    name, code = "own-rate", "FSDP617"
    fault = "each rank has a learning rate of its own"

    def places(self, view: View) -> Iterator[Plant]:
        for made in view.trace.of(events.Optimizer):
            found = view.call(made) if made.what.proven and made.what.held else None
            rate = keyword(found[1], "lr") if found is not None else None
            model = made.what.held[0].model if made.what.held else None
            if found is None or rate is None or not view.sharded(model, made):
                continue
            edit = found[0].replaced(rate, f"({found[0].words(rate)}) * ({RANK} + 1)")
            yield Plant((edit,), view.home(model))

    def shown(self, mutant: Mutant) -> bool:
        return any(mutant.planted(events.HyperparameterGiven))


def loss_name(text: Text, call: ast.Call) -> str | None:
    """The name of what ``backward`` is called on."""
    func = call.func
    named = isinstance(func, ast.Attribute) and func.attr == "backward" and isinstance(func.value, ast.Name)
    return text.words(func.value) if named and isinstance(func, ast.Attribute) and not call.args else None


class WrittenBeforeBackward(Operator):
    name, code = "written-before-backward", "FSDP408"
    fault = "the parameters are written between the forward and its backward"

    def places(self, view: View) -> Iterator[Plant]:
        """Where the loss is of one call alone, which begins a statement of its own: more may be differentiated else."""
        for call in view.trained_calls:
            found = view.call(call) if self._alone(view, call) else None
            statement = found[0].statement(call.when.at) if found is not None else None
            if found is not None and isinstance(statement, ast.Assign) and is_plain(found[1].func):
                text, model = found[0], found[0].words(found[1].func)
                line = f"for planted in {model}.parameters(): planted.data.mul_(0.5)"
                yield Plant((text.after(statement, line),), view.home(call.subject), (call.when.at,))

    def _alone(self, view: View, call: Step[events.Called]) -> bool:
        losses = [loss.index for loss in view.trace.of(events.Backward)]
        last = max((index for index in losses if index < call.index), default=-1)
        coming = min((index for index in losses if index > call.index), default=-1)
        calls = [each for each in view.trace.of(events.Called) if last < each.index < coming and not each.what.inside]
        return all(each is call or not view.part_sharded(each.subject, each) for each in calls)

    def shown(self, mutant: Mutant) -> bool:
        writes = mutant.planted(events.Changed)
        losses = [*mutant.view.trace.of(events.Backward)]
        ran = any(call.precedes(write) for call in mutant.kept(events.Called) for write in writes)
        return ran and any(write.precedes(loss) for write in writes for loss in losses)


OPERATORS = (
    OptimizerFirst(),
    ClipLast(),
    NormByHand(),
    ClippedAsFsdp1(),
    SyncOff(),
    NoSync(),
    Copied(),
    LossReduced(),
    WrittenBeforeBackward(),
    OwnRate(),
)
