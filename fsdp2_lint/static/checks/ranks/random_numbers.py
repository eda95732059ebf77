"""Random numbers: do all ranks draw the same ones?"""

from __future__ import annotations

from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.formulas import Formula, atoms
from ...interpreter.expressions.own_values import asked_for, own_of
from ...libraries.torch.ranks.seeds import generator_of
from ..shared.conditions import objects_in
from ..shared.program import Program

_BY_OTHER_NAMES = r"from\s+(numpy\.)?random\s+import|import\s+(numpy\.)?random\s+as|from\s+numpy\s+import[^\n]*random"


def drawn_apart(program: Program, generator: str, step: AnyStep) -> str:
    """Empty if the ranks surely draw different numbers by then; else why they may draw the same."""
    seeds = _seeds(program, generator)
    before = [each for each in seeds if each.index < step.index]
    if before and before[-1].what.differs and before[-1].precedes(step):
        return ""
    if before or seeds or generator == "torch":  # torch starts from the same seed in every process
        return "whether the ranks draw the same random numbers is not known"
    if who := next(iter((*program.machine.libraries.opaque, program.managed_by)), ""):
        return f"{who} may seed the random numbers"
    return ""


def seeded_before(program: Program, generator: str, step: AnyStep) -> bool:
    return any(each.index < step.index for each in _seeds(program, generator))


def drawn_alike(program: Program, generator: str, step: AnyStep) -> bool:
    """Do all ranks surely draw the same numbers by then: after one seed, as many on each, and nobody else draws?

    Not asked of torch's generator: how far it goes on depends on how large tensors are, such as the batch of a rank.
    """
    libraries = program.machine.libraries
    if generator == "torch" or libraries.opaque or libraries.others or program.managed_by:
        return False
    if program.partial or program.open_why or _drawn_elsewhere(program):
        return False
    seeds, around = _seeds(program, generator), _loops(program, step)
    draws = [each for each in program.trace.of(events.NumberDrawn) if each.what.generator == generator]
    return (
        any(each.precedes(step) for each in seeds)
        and all(each.what.differs is False for each in seeds)
        and all(_by_all(program, each) for each in (*seeds, *draws))
        and all(_loops(program, each) <= around for each in draws)
    )


def asks_draws_alone(program: Program, asked: Formula) -> bool:
    """Is all that a condition asks, and that a rank may have for itself, a number as it was drawn?"""
    own = (each for each in objects_in(asked[1:]) if own_of(program.machine, each) is not None)
    return all(generator_of(each) for each in own)


def _seeds(program: Program, generator: str) -> list[Step[events.Seeded]]:
    return [each for each in program.trace.of(events.Seeded) if generator in each.what.generators]


def _drawn_elsewhere(program: Program) -> bool:
    """Does the project speak of random numbers where nobody came in this program?"""
    seen = {each.when.at for each in program.trace.of(events.Seeded, events.NumberDrawn)}
    return program.project.mentions("random.") > len(seen) or program.project.anywhere(_BY_OTHER_NAMES)


def _by_all(program: Program, step: AnyStep) -> bool:
    """Do all ranks come here?"""
    machine = program.machine
    asked = [formula for formula, _ in step.guard.literals]
    return not step.context and not any(
        machine.about_rank(formula) or any(asked_for(machine, atom) for atom in atoms(formula)) for formula in asked
    )


def _loops(program: Program, step: AnyStep) -> set[object]:
    return {(loop.node, loop.calls) for loop in program.loops(step)}
