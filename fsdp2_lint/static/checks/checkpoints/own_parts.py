"""What of a checkpoint each rank surely has for itself: its random numbers, and what is computed from its number."""

from __future__ import annotations

from ....vocab.finding import Moment
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.path_conditions import PathCondition
from ...domain.values import Obj, Value
from ...interpreter.expressions.numbers import is_multiple
from ...libraries.torch.ranks.data import seeds_of
from ...libraries.torch.ranks.seeds import GeneratorState, differs
from ..shared.program import Program


def own_of_ranks(program: Program, step: AnyStep, value: Value) -> tuple[Moment, str] | None:
    """Where each rank reads or makes its own of what ``step`` saves, and what it is."""
    if not isinstance(value, Obj):
        return None
    known = value.atom.state(GeneratorState)
    if known is not None and not value.path:
        seeded = _seeded(program, step, known)
        return None if seeded is None else (seeded, f"the state of {known.generator}'s random numbers")
    by = value.parent.atom if value.parent is not None and value.item[:2] == ("()", "get_state") else None
    if by is not None and any(differs(program.machine, seed) for seed in seeds_of(by)):
        return step.when, "the state of a generator with a seed of each rank's own"
    if value.atom.per_rank and all(map(is_multiple, value.path)):
        return step.when, "a number that is computed from the rank"
    return None


def _seeded(program: Program, step: AnyStep, state: GeneratorState) -> Moment | None:
    """Where the ranks' random numbers part: at another seed, or, for want of one, where the state is read."""
    seeds = [each for each in program.trace.of(events.Seeded) if state.generator in each.what.generators]
    if before := [each for each in seeds if each.index < state.at]:
        return _seeded_apart(step, before)
    unseeded = state.generator != "torch" and not seeds  # torch begins with one seed in all processes
    return state.read if unseeded and program.seen_whole else None


def _seeded_apart(saved: AnyStep, seeds: list[Step[events.Seeded]]) -> Moment | None:
    """Where the last seed is that differs by ranks, on the paths that no other seed behind it takes: those of a
    resumed job are, where a checkpoint brings back what it has.
    """
    left: PathCondition | None = saved.guard
    found: Moment | None = None
    for step in reversed(seeds):
        if left is None:
            break
        if not left.compatible(step.guard):
            continue
        found = found or (step.when if step.what.differs else None)
        left = left.add(step.guard.formula, False)
    return found if left is None else None
