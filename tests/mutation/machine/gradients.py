"""Faults of gradients: by what they are divided, past what they are taken, and by whose norm they are clipped."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.static.checks.sharding.options import in_replicas
from fsdp2_lint.static.checks.shared.switches import ALL_REDUCE
from fsdp2_lint.static.domain import events
from fsdp2_lint.static.domain.events import Step
from fsdp2_lint.static.domain.relations import Relation

from .operator import TORCH, Mutant, Operator, Plant, argument
from .plan import AtRoot
from .training import loss_name, parameters_of
from .view import View, is_plain


class FactorOfRoot(AtRoot):
    name, code = "factor-of-root", "FSDP616"
    fault = "the group of the root divides its gradients by another number than the groups inside"

    def lines(self, model: str, statement: str) -> tuple[str, ...]:
        return (f"{model}.set_gradient_divide_factor(1.0)",)

    def places(self, view: View) -> Iterator[Plant]:
        if any(view.trace.of(events.Backward)) and not any(view.trace.of(events.Divided, events.Frozen)):
            yield from super().places(view)

    def shown(self, mutant: Mutant) -> bool:
        inside = (mutant.view.units(step.subject, Relation.CONTAINS) for step in mutant.planted(events.Divided))
        return any(any(units) for units in inside)


class AllReduceOff(Operator):
    name, code = "all-reduce-off", "FSDP604"
    fault = "gradients are never reduced over the replicas"

    def places(self, view: View) -> Iterator[Plant]:
        for switch in view.trace.of(events.BackwardSwitched):
            found = view.call(switch) if switch.what.name == ALL_REDUCE and not switch.what.off else None
            given = argument(found[1], 0, "requires_all_reduce") if found is not None else None
            if found is None or given is None or switch.subject is None or any(view.trace.of(events.Sync)):
                continue
            if in_replicas(view.program, switch.subject).surely and any(view.trace.of(events.Stepped)):
                yield Plant((found[0].replaced(given, "False"),), view.home(switch.subject))

    def shown(self, mutant: Mutant) -> bool:
        off = mutant.planted(events.BackwardSwitched)
        return any(each.precedes(step) for each in off for step in mutant.view.trace.of(events.Stepped))


class TakenByHand(Operator):
    name, code = "taken-by-hand", "FSDP619"
    fault = "gradients of sharded parameters are taken past backward"

    def places(self, view: View) -> Iterator[Plant]:
        for call in view.trained_calls:
            loss = next((each for each in view.trace.of(events.Backward) if call.index < each.index), None)
            found = view.call(call) if view.sharded(call.subject, call) else None
            statements = view.in_order(call, loss) if loss is not None else None
            near = found is not None and statements is not None and found[0].statement(call.when.at) is statements[1]
            if found is not None and loss is not None and near and is_plain(found[1].func):
                yield from self._between(view, call, loss, found[0].words(found[1].func))

    def _between(
        self, view: View, call: Step[events.Called], loss: Step[events.Backward], model: str
    ) -> Iterator[Plant]:
        there, statements = view.call(loss), view.in_order(call, loss)
        name = loss_name(*there) if there is not None else None
        if statements is not None and name is not None and there is not None and there[0] is statements[0]:
            line = f"planted.autograd.grad({name}, [*{model}.parameters()], retain_graph=True, allow_unused=True)"
            yield Plant((statements[0].before(statements[2], TORCH, line),), view.home(call.subject))

    def shown(self, mutant: Mutant) -> bool:
        return any(mutant.planted(events.Differentiated))


class ClippedByStage(Operator):
    name, code = "clipped-by-stage", "FSDP618"
    fault = "each stage of a pipeline clips by its own norm"

    def places(self, view: View) -> Iterator[Plant]:
        if not any(view.trace.of(events.Pipelined)) or any(view.trace.of(events.Clipped)):
            return
        for made in view.trace.of(events.Optimizer):
            step = next((each for each in view.trace.of(events.Stepped) if each.subject is made.subject), None)
            there = view.call(made) if made.what.held else None
            model = parameters_of(there[1].args[0]) if there is not None and there[1].args else None
            if step is None or there is None or model is None or view.in_order(made, step) is None:
                continue
            text, statement = there[0], there[0].statement(step.when.at)
            if statement is not None and step.when.at.path == made.when.at.path:
                line = f"planted.nn.utils.clip_grad_norm_({text.words(model)}.parameters(), 1.0)"
                yield Plant((text.before(statement, TORCH, line),), view.home(made.what.held[0].model))

    def shown(self, mutant: Mutant) -> bool:
        stages = [*mutant.view.trace.of(events.Pipelined)]
        return any(stage.precedes(clip) for clip in mutant.planted(events.Clipped) for stage in stages)


OPERATORS = (FactorOfRoot(), AllReduceOff(), TakenByHand(), ClippedByStage())
