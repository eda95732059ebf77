"""Conditions that each rank answers by what it alone has, and what only some ranks come to for it."""

from __future__ import annotations

from collections.abc import Iterator

from astroid.nodes import NodeNG

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Moment, Place, Site
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.formulas import Formula, atoms
from ...domain.values import Ext, Obj, TupleV, Value
from ...interpreter.expressions.own_values import Own, asked_for, is_on_the_way, own_of
from ...libraries.torch.ranks.rank import alone
from ..shared.conditions import objects_in
from ..shared.program import Program
from .random_numbers import asks_draws_alone, drawn_alike, drawn_apart
from .unseen_data import undecided

# Ranks that ask for the least or the greatest want to know whether they differ; a sum is more often a mean.
_VOTES = frozenset(f"torch.distributed.ReduceOp.{name}" for name in ("MIN", "MAX", "BAND", "BOR", "BXOR", "PRODUCT"))
_TO_ONE_RANK = frozenset({"reduce()", "gather()", "gather_object()"})  # the others have what they had, or rubbish


def own_choice(program: Program, step: AnyStep, *, alive: bool = False) -> Answer[Place]:
    """Does each rank decide for itself whether it comes to a step? Unknown where the ranks may have agreed before.

    ``alive``: and the job goes on where they decide differently. Who leaves a loop with collectives stops the others.
    """
    if alone(program.machine, step.guard):
        return program.excluded("the job has one rank here")
    if isinstance(step.what, events.Called) and step.what.inside:
        return program.excluded("it is a part of the call around it")
    doubt = ""
    out = out_of_loops(program, step, alive)
    for at, formula, truth, atom, own in (*reversed([*_on_the_way(program, step)]), *out):
        if _either_way(program, step, formula, truth):
            doubt = doubt or "other ranks may make the same call elsewhere"
        elif own.draw and asks_draws_alone(program, atom) and drawn_alike(program, own.draw, at):
            continue
        elif why := agreed(program, own, at) or program.called_back(step):
            doubt = why
        else:
            return yes(Place(at.kept_asked.get(atom, at.when), own.words))
    for loop in program.loops(step):
        drawn = program.machine.own_rounds.get(loop.node)
        if drawn is not None and drawn.draw and not drawn_alike(program, drawn.draw, step):
            if not (doubt := doubt or agreed(program, drawn, step) or program.called_back(step)):
                return yes(Place(Moment(loop.site, loop.calls), f"{drawn.words}, by which this loop goes round"))
    doubt = doubt or _by_rounds(program, step)
    doubt = doubt or _by_unseen_data(program, step) or _left_by_unseen_data(program, step, alive)
    return unknown(doubt) if doubt else program.excluded("no condition on what a rank alone has leads here")


def _by_rounds(program: Program, step: AnyStep) -> str:
    """A loop around the step that goes round once for each thing that a rank has for itself."""
    own = (program.machine.own_rounds.get(loop.node) for loop in program.loops(step))
    return next((f"how often the loop around it goes round depends on {each.words}" for each in own if each), "")


def _by_unseen_data(program: Program, step: AnyStep) -> str:
    path = step.guard.literals
    for position, (formula, truth) in enumerate(path):
        if path[: position + 1] not in program.machine.refused and (why := undecided(program, step, formula)):
            if not _either_way(program, step, formula, truth):
                return why
    return ""


def _left_by_unseen_data(program: Program, step: AnyStep, alive: bool) -> str:
    """What may end a loop around the step for one rank, while others go on."""
    for left in _exits(program, step, alive):
        path = left.guard.literals
        for position, (formula, truth) in enumerate(path):
            if (formula, truth) in step.guard.literal_set or path[: position + 1] in program.machine.refused:
                continue
            if why := undecided(program, left, formula):
                return why
    return ""


Asked = tuple[AnyStep, Formula, bool, Formula, Own]


def _on_the_way(program: Program, step: AnyStep) -> Iterator[Asked]:
    path = step.guard.literals
    for position, (formula, truth) in enumerate(path):
        if path[: position + 1] in program.machine.refused:
            continue  # a rank that turns away here ends the job
        for atom in atoms(formula):
            if (own := asked_for(program.machine, atom)) is not None:
                yield step, formula, truth, atom, own


def out_of_loops(program: Program, step: AnyStep, alive: bool) -> Iterator[Asked]:
    """What ends a loop around the step for one rank, while others go on."""
    for left in _exits(program, step, alive):
        last = [each for each in _on_the_way(program, left) if (each[1], each[2]) not in step.guard.literal_set]
        yield from last[-1:]


def _exits(program: Program, step: AnyStep, alive: bool) -> Iterator[AnyStep]:
    """Where loops around the step end early. ``alive``: not one with collectives, where who leaves stops the others."""
    around = {(loop.node, loop.calls) for loop in program.loops(step)}
    for left in program.trace.of(events.LoopLeft):
        over = {(loop, left.when.stack) for loop in left.what.loops}
        if over & around and not (alive and _together_in(program, over)):
            yield left


def _some_share(program: Program, step: AnyStep) -> bool:
    """May the ranks that come together here be those that have one number, such as that of a mesh's other dimension?"""
    if isinstance(step.what, events.Collective) and step.subject is None:
        return step.what.group is not None
    return not all(map(_is_one_dimension, program.trace.of(events.Mesh))) or any(
        asked_for(program.machine, atom)
        for sharded in program.trace.of(events.Sharded)
        for formula, _ in sharded.guard.literals
        for atom in atoms(formula)
    )


def _is_one_dimension(mesh: Step[events.Mesh]) -> bool:
    return isinstance(mesh.what.shape, TupleV) and len(mesh.what.shape.items) == 1


def _together_in(program: Program, loops: set[tuple[NodeNG, tuple[Site, ...]]]) -> bool:
    """Do the ranks do anything together in one of these loops?"""
    return any(
        (loop.node, loop.calls) in loops
        for step in program.trace.of(events.Collective, events.Backward)
        for loop in program.loops(step)
    )


def agreed(program: Program, own: Own, step: AnyStep) -> str:
    """Why the ranks may have the same value all the same."""
    if program.partial or program.open_why:
        return program.open_why or "no script was seen that runs this"
    if program.managed_by:
        return program.managed_by
    for collective in program.trace.of(events.Collective):
        if collective.what.name in _TO_ONE_RANK:
            continue
        given = collective.what.given or () if collective.index < step.index else ()
        vote = any(isinstance(value, Ext) and value.qname in _VOTES for value in given)
        for value in given:
            if any(is_on_the_way(own, obj) or vote and _of_one(program, own, obj) for obj in _told_by(program, value)):
                return f"{collective.when.at} may have made the ranks agree"
    if own.picked and _some_share(program, step):
        return "ranks of this mesh may take the same part"
    for obj, who in program.machine.libraries.handed.items():
        if is_on_the_way(own, obj):
            return f"{who} had it in its hands, and was not followed"
    return own.doubt or (drawn_apart(program, own.draw, step) if own.draw else "")


def _of_one(program: Program, own: Own, told: Obj) -> bool:
    """Is what the ranks compare made of the same data, such as whether a batch has any images?"""
    other = own_of(program.machine, told)
    return other is not None and not other.via.isdisjoint(own.via)


def _told_by(program: Program, value: Value) -> Iterator[Obj]:
    """The objects that lie in a value, and those that decide what lies in it."""
    for path, leaf in program.machine.leaves(value):
        if isinstance(leaf, Obj):
            yield leaf
        for formula, _ in path.literals:
            for atom in atoms(formula):
                yield from objects_in(atom)


def _either_way(program: Program, step: AnyStep, formula: Formula, truth: bool) -> bool:
    """Is the same call also made where the condition is answered the other way, and not by a rank's choice again?"""
    for other in program.alike(step):
        if other.place == step.place and not other.guard.compatible(step.guard):
            return True  # one call, with what other ranks have
        if other.guard.decide(formula) is (not truth):
            rest = {each for each, _ in other.guard.literal_set - step.guard.literal_set} - {formula}
            if not any(asked_for(program.machine, atom) for each in rest for atom in atoms(each)):
                return True
    return False
