"""Plants faults in one repository and looks which of them are found."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from fsdp2_lint.vocab.finding import Finding

from . import calls, gathering, gradients, initialisation, launch, plan, saving, sharing, training
from .following import Repository, Seen, Task, deep
from .operator import Mutant, Operator, Plant
from .text import Edit

OPERATORS: tuple[Operator, ...] = (
    *launch.OPERATORS,
    *initialisation.OPERATORS,
    *plan.OPERATORS,
    *calls.OPERATORS,
    *training.OPERATORS,
    *gathering.OPERATORS,
    *gradients.OPERATORS,
    *saving.OPERATORS,
    *sharing.OPERATORS,
)
STEPS = 1_500_000  # in one repository, for all that is followed: some minutes
PLACES = 2  # for each operator in one repository
WORDS = ("found", "missed", "not reached", "crash")
SHARE = 0.5  # of the steps for the programs as they are


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one plant. ``word`` is one of WORDS, ``said`` what the tool says of the mutant where it does not find it."""

    repository: str
    operator: str
    code: str
    word: str
    place: str
    across: bool
    program: str
    said: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Chance:
    """A plant, for a program in which its operator's clause is not found violated as it is."""

    operator: Operator
    task: Task
    plant: Plant


def plant_all(folder: Path, steps: int = STEPS, places: int = PLACES) -> list[Outcome]:
    """All operators on one repository, in an order that depends on its files alone."""

    def work() -> list[Outcome]:
        repository = Repository(folder, steps)
        chances = chosen(repository, places)
        return [attempt(repository, each) for each in chances if repository.steps > 0]

    return deep(work)


def chosen(repository: Repository, places: int) -> list[Chance]:
    """At most so many plants for each operator: first one of each, then the second ones."""
    found: dict[Operator, dict[tuple[Edit, ...], Chance]] = {operator: {} for operator in OPERATORS}
    for seen in repository.programs(SHARE):
        for operator, chances in found.items():
            for chance in islice(_chances(seen, operator), places):
                chances.setdefault(chance.plant.edits, chance)
    ranks = zip_longest(*(islice(chances.values(), places) for chances in found.values()))
    return [chance for rank in ranks for chance in rank if chance is not None]


def _chances(seen: Seen, operator: Operator) -> Iterator[Chance]:
    if not any(finding.code == operator.code for finding in seen.findings):
        for plant in operator.places(seen.view):
            yield Chance(operator, seen.task, plant)


def attempt(repository: Repository, chance: Chance) -> Outcome:
    """Plant it, see in the trace that it is there, and look for the finding."""
    operator, plant = chance.operator, chance.plant
    try:
        seen = repository.again(chance.task, plant.edits)
    except (ValueError, SyntaxError) as error:
        return _outcome(repository, chance, "not reached", [f"the edit cannot be made: {error}"])
    if seen.followed.broken:
        return _outcome(repository, chance, "crash", [f"{part}: {defect}" for part, defect in seen.followed.broken])
    if not operator.shown(Mutant(plant, seen.view)):
        return _outcome(repository, chance, "not reached", seen.followed.out_of_budget)
    if any(_is_it(finding, chance) for finding in seen.findings):
        return _outcome(repository, chance, "found", [])
    return _outcome(repository, chance, "missed", _instead(seen, chance))


def _is_it(finding: Finding, chance: Chance) -> bool:
    """A finding of the operator's clause, all of which are new, that names a file of the fault."""
    plant = chance.plant
    files = {*(edit.path for edit in plant.edits), *(site.path for site in plant.kept), plant.home}
    return finding.code == chance.operator.code and any(site.path in files for site in finding.sites)


def _instead(seen: Seen, chance: Chance) -> list[str]:
    """Why nobody can say, and what else is said that was not."""
    others = [f"{finding.code} {finding.primary.site}" for finding in seen.findings]
    return [*seen.unknown(chance.operator.code)[:2], *seen.followed.out_of_budget[:1], *others[:4]]


def _outcome(repository: Repository, chance: Chance, word: str, said: list[str]) -> Outcome:
    root, first = repository.root, chance.plant.edits[0]
    return Outcome(
        repository=os.path.basename(root),
        operator=chance.operator.name,
        code=chance.operator.code,
        word=word,
        place=f"{os.path.relpath(first.path, root)}:{first.start[0]}",
        across=chance.plant.across,
        program=os.path.relpath(chance.task.entry.name, root),
        said=tuple(each.replace(f"{root}{os.sep}", "") for each in said),
    )
