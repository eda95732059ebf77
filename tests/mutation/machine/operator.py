"""What an operator is: it finds places for one kind of fault, and knows the fault in the trace of the mutant."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from fsdp2_lint.static.domain.events import AnyStep, Step
from fsdp2_lint.static.domain.trace import E
from fsdp2_lint.vocab.finding import Site

from .text import Edit, Text, row_after, written
from .view import View

RANK = 'int(__import__("os").environ["RANK"])'
RANK_ZERO = f"{RANK} == 0"
SHOWN_BY_EDIT = "the edit alone is the fault, and no event tells of it"
TORCH = "import torch as planted"


@dataclass(frozen=True, slots=True)
class Plant:
    """One fault in one program. ``home`` is the file in which the model began, ``kept`` what the mutant still does."""

    edits: tuple[Edit, ...]
    home: str
    kept: tuple[Site, ...] = ()

    @property
    def across(self) -> bool:
        """Is the model made in another file than the fault?"""
        return any(edit.path != self.home for edit in self.edits)


class Mutant:
    """A program after its plant, as its trace tells."""

    def __init__(self, plant: Plant, view: View) -> None:
        self.view = view
        self._written = written(plant.edits)
        self._kept = {(site.path, row_after(plant.edits, site.path, site.row)) for site in plant.kept}

    def planted(self, kind: type[E]) -> list[Step[E]]:
        """Those that come from what was written."""
        return [step for step in self.view.trace.of(kind) if self.comes_from_it(step)]

    def comes_from_it(self, step: AnyStep) -> bool:
        return any(rows.meet(site) for rows in self._written for site in step.when.chain)

    def kept(self, kind: type[E]) -> list[Step[E]]:
        """Those that happen where they did before."""
        return [step for step in self.view.trace.of(kind) if (step.when.at.path, step.when.at.row) in self._kept]


class Operator(ABC):
    """``fault`` in words. ``shown``: does the trace show it? Where no trace can, ``unshown`` says so."""

    name: ClassVar[str]
    code: ClassVar[str]
    fault: ClassVar[str]
    unshown: ClassVar[str] = ""

    @abstractmethod
    def places(self, view: View) -> Iterator[Plant]:
        """Where it can be planted; only where the program is right in this respect."""

    @abstractmethod
    def shown(self, mutant: Mutant) -> bool: ...


def argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    """What a call is given, if it is written there."""
    given = call.args[place] if place < len(call.args) else keyword(call, name)
    return None if isinstance(given, ast.Starred) else given


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in call.keywords if each.arg == name), None)


def callee(text: Text, call: ast.Call) -> str:
    """The last name of what is called."""
    return text.words(call.func).rsplit(".", 1)[-1]
