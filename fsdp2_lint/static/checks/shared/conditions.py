"""Conditions: what they are about, and which may choose a strategy.

A program that serves several strategies holds another kind of model on each side of such a condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...domain.formulas import Formula, is_fork
from ...domain.path_conditions import Literals, PathCondition
from ...domain.values import Obj
from ...libraries.interface import Machine
from .program import Program


# -- what a condition is about
def objects_in(part: Any) -> Iterator[Obj]:
    """The objects in a formula or a value, all options of a choice included."""
    if isinstance(part, Obj):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from objects_in(each)
    elif options := getattr(part, "options", None):
        for _, each in options:
            yield from objects_in(each)


_WRAPPERS = (
    r"DataParallel\b|\bAveragedModel\b"
    r"|\b(?:import|from)\s+(?:accelerate|deepspeed|horovod|lightning|megatron|pytorch_lightning)"
)


def other_wrappers(program: Program) -> bool:
    """May a model lie in another wrapper on other settings: was not all seen, or does the project speak of one?"""
    return bool(program.partial or program.managed_by) or program.machine.project.anywhere(_WRAPPERS)


def choosing(
    machine: Machine, path: PathCondition, other: PathCondition, checked: Literals = frozenset()
) -> list[Formula]:
    """Conditions of one path that the other does not have, and that may choose a strategy.

    None do so that ask for a rank or for the round of a loop, that only keep an earlier way out apart, or that are
    ``checked``: who answers otherwise ends there.
    """
    return [
        formula
        for formula, truth in path.undriven.literals
        if not is_fork(formula)
        and (formula, truth) not in checked
        and other.decide(formula) is not truth
        and not machine.about_rank(formula)
        and not in_some_round(formula, truth)
    ]


def checked_on(machine: Machine, path: PathCondition) -> Literals:
    """What holds on this path because the program ends with an error wherever it does not."""
    literals = path.literals
    return frozenset(each for at, each in enumerate(literals) if literals[: at + 1] in machine.refused)


def in_some_round(formula: Formula, truth: bool) -> bool:
    """Does the number of a loop's round alone bring this answer, whatever else is asked?"""
    kind = formula[0]
    if kind == "not":
        return in_some_round(formula[1], not truth)
    if kind in ("and", "or"):
        enough = any if (kind == "or") is truth else all
        return enough(in_some_round(part, truth) for part in formula[1])
    return any(_is_round(obj) for obj in objects_in(formula))


def _is_round(obj: Obj) -> bool:
    """The number of a round, or what is computed of it, where there may be several."""
    while obj.atom.left_of is not None:
        obj = obj.atom.left_of[1]
    return obj.atom.origin == "range" and obj.atom.rounds not in (0, 1)
