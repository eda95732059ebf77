"""Random numbers: do all ranks draw the same ones?"""

from __future__ import annotations

from astroid import nodes

from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.formulas import Formula, atoms, both, is_fork, negate
from ...domain.path_conditions import PathCondition
from ...frontend.module import Module
from ...frontend.names import names_in
from ...interpreter.expressions.own_values import asked_for, own_of
from ...libraries.torch.ranks.seeds import generator_of
from ..shared.conditions import objects_in
from ..shared.program import Program

_MODULE = "random"
_MODULES = frozenset({"random", "numpy.random"})
_DEFINITIONS = (nodes.FunctionDef, nodes.ClassDef, nodes.Import, nodes.ImportFrom)


def drawn_apart(program: Program, generator: str, step: AnyStep) -> str:
    """Empty if the ranks surely draw different numbers by then; else why they may draw the same."""
    seeds = _seeds(program, generator)
    before = [each for each in seeds if each.index < step.index]
    apart = [at for at, each in enumerate(before) if each.what.differs and each.precedes(step)]
    if apart and _passed_by(before[apart[-1] + 1 :], step):
        return ""
    if before or seeds or generator == "torch":  # torch starts from the same seed in every process
        return "whether the ranks draw the same random numbers is not known"
    if who := next(iter((*program.machine.libraries.opaque, program.managed_by)), ""):
        return f"{who} may seed the random numbers"
    return ""


def _passed_by(seeds: list[Step[events.Seeded]], step: AnyStep) -> bool:
    """May a run come to ``step`` without any of these, such as what is set again where a checkpoint is loaded?"""
    path: PathCondition | None = step.guard
    for each in seeds:
        asked = [
            formula if truth else negate(formula)
            for formula, truth in each.guard.literals
            if not is_fork(formula) and formula not in each.guard.blurred
        ]
        if path is None or each.context:
            return False
        path = path.add(both(asked), False)
    return path is not None


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
    """Does a function that this program did not come to speak of what draws, or a file while it is imported?"""
    project = program.machine.project
    return any(_speaks_elsewhere(program, project.module(path)) for path in project.saying(_MODULE))


def _speaks_elsewhere(program: Program, module: Module | None) -> bool:
    if module is None:
        return True
    names, reached = _drawing_names(module), program.machine.reached
    functions = [*module.tree.nodes_of_class(nodes.FunctionDef)]
    if any(names & names_in(each) and each not in reached for each in functions):
        return True
    rest = [each for each in module.tree.body if not isinstance(each, _DEFINITIONS)]
    return module.tree not in reached and any(names & names_in(each) for each in rest)


def _drawing_names(module: Module) -> frozenset[str]:
    """Under which names a file has what draws by Python's or numpy's generator: modules, or functions of these.

    Or "random" as a part of a module that has it, such as ``np.random``.
    """
    found = {_MODULE}
    for name, bound in module.bindings.items():
        for each in bound:
            if isinstance(each, nodes.Import):
                found |= {name for known, alias in each.names if known in _MODULES and alias == name}
            elif isinstance(each, nodes.ImportFrom):
                whole = each.modname in _MODULES
                found |= {
                    name for known, alias in each.names if (alias or known) == name and (whole or known == _MODULE)
                }
    return frozenset(found)


def _by_all(program: Program, step: AnyStep) -> bool:
    """Do all ranks come here?"""
    machine = program.machine
    asked = [formula for formula, _ in step.guard.literals]
    return not step.context and not any(
        machine.about_rank(formula) or any(asked_for(machine, atom) for atom in atoms(formula)) for formula in asked
    )


def _loops(program: Program, step: AnyStep) -> set[object]:
    return {(loop.node, loop.calls) for loop in program.loops(step)}
