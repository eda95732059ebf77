"""Gradients that FSDP2 leaves alone: does the program itself reduce them before each step?"""

from __future__ import annotations

from collections.abc import Iterator

from astroid import nodes

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Moment
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.relations import Relation
from ...domain.values import ClassV, Obj, Value
from ...frontend.names import names_in, texts_in
from ...frontend.origins import full_name
from ..shared.program import Program

_REDUCING = ("all_reduce()", "all_reduce_coalesced()", "reduce_scatter()", "reduce_scatter_tensor()", "reduce()")
_GRADIENTS = frozenset({"grad", "_grad", "main_grad"})  # whoever changes what an optimizer uses has it by such a name
_DEFINITIONS = (nodes.FunctionDef, nodes.ClassDef)


def reduced(program: Program, ignored: Value, optimizer: Step[events.Optimizer]) -> Answer[Moment]:
    """Are the gradients of what is ignored reduced over all ranks before each step of the optimizer?"""
    reducing = [step for step in program.trace.of(events.Collective) if step.what.name in _REDUCING]
    if not reducing:
        return program.among(events.Collective)
    found = [
        step for step in reducing if step.what.sure and step.what.group is None and _are_of(program, ignored, step)
    ]
    steps = [step for step in program.trace.of(events.Stepped) if step.subject is optimizer.subject]
    if steps and all(any(_comes_before(program, each, step) for each in found) for step in steps):
        return yes(found[0].when)
    if found or _of_own_class(optimizer) or any(map(_names_gradients, _code(program))):
        return unknown(f"whether {(found or reducing)[0].when.at} reduces these gradients is not known")
    return program.excluded("no code that was followed has gradients in hand")


def _are_of(program: Program, ignored: Value, step: Step[events.Collective]) -> bool:
    """Is it given the gradient of this parameter? Of several at once it may be given some."""
    given = [leaf for value in step.what.given or () for _, leaf in program.machine.alternatives(value)]
    gradients = [leaf for leaf in given if isinstance(leaf, Obj) and leaf.item == "grad"]
    return isinstance(ignored, Obj) and any(
        program.relation(ignored, leaf.parent) is Relation.SAME for leaf in gradients if leaf.parent is not None
    )


def _comes_before(program: Program, reduction: AnyStep, step: AnyStep) -> bool:
    """In each run that makes the step, between a backward and it?"""
    backward = any(each.index < reduction.index for each in program.trace.of(events.Backward))
    return backward and reduction.precedes(step) and step.guard.implies(reduction.guard)


def _of_own_class(optimizer: Step[events.Optimizer]) -> bool:
    """Its own step is not followed, and may reduce what it uses."""
    return optimizer.subject is not None and isinstance(optimizer.subject.atom.cls, ClassV)


def _code(program: Program) -> Iterator[nodes.NodeNG]:
    """All that was followed; of a file what stands at its top."""
    for node in program.machine.reached:
        if isinstance(node, nodes.Module):
            yield from (statement for statement in node.body if not isinstance(statement, _DEFINITIONS))
        else:
            yield node


def _names_gradients(code: nodes.NodeNG) -> bool:
    names = names_in(code)
    if names & _GRADIENTS or texts_in(code) & _GRADIENTS:
        return True
    return "getattr" in names and any(map(_asks_by_computed_name, code.nodes_of_class(nodes.Call)))


def _asks_by_computed_name(call: nodes.Call) -> bool:
    """``getattr(parameter, name)``: of what is imported no name leads to a gradient."""
    asked = call.args if getattr(call.func, "name", "") == "getattr" else []
    return len(asked) > 1 and not isinstance(asked[1], nodes.Const) and not full_name(asked[0])
