"""What the trace of a program tells operators: which models are sharded, where, and where they train."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from fsdp2_lint.static.checks.shared.program import Program
from fsdp2_lint.static.domain import events
from fsdp2_lint.static.domain.events import AnyStep, Step
from fsdp2_lint.static.domain.relations import Relation
from fsdp2_lint.static.domain.trace import Trace
from fsdp2_lint.static.domain.values import Obj, is_each
from fsdp2_lint.vocab.finding import Site

from .text import Text

Unit = Step[events.Sharded]
APPLIED = ("map", "filter")  # they call what they are given, with arguments of their own


@dataclass(frozen=True, slots=True)
class Root:
    """A model that is sharded in parts and as a whole: the calls for both."""

    model: Obj
    whole: Unit
    parts: tuple[Unit, ...]


class View:
    """One program. ``texts`` are its files, as far as Python can read them."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._texts: dict[str, Text | None] = {}

    @property
    def trace(self) -> Trace:
        return self.program.trace

    def text(self, path: str) -> Text | None:
        """A file that edits can be made in; None for notebooks, what is not read, and what lies outside."""
        if path not in self._texts:
            self._texts[path] = self._read(path) if path in self.program.project.files else None
        return self._texts[path]

    def _read(self, path: str) -> Text | None:
        try:
            return Text(path, self.program.project.data(path)) if path.endswith(".py") else None
        except (SyntaxError, ValueError):
            return None

    def call(self, step: AnyStep) -> tuple[Text, ast.Call] | None:
        """Of the place where a step happens: the file, and the call as it is written."""
        text = self.text(step.when.at.path)
        call = text.call(step.when.at) if text is not None else None
        if text is None or call is None or text.words(call.func) in APPLIED:
            return None
        return text, call

    def home(self, model: Obj | None) -> str:
        """The file in which a model is made, or in which it is first met."""
        return self.program.key(model).site.path if model is not None else ""

    def is_each(self, part: Obj) -> bool:
        """Does it stand for all elements of a container?"""
        adopted = self.program.machine.parents.get(part)
        return part.atom.many or is_each(part.item) or adopted is not None and is_each(adopted[1])

    # -- sharding ------------------------------------------------------------------------

    def units(self, model: Obj | None, *relations: Relation) -> Iterator[Unit]:
        """Calls of ``fully_shard`` on what surely stands in one of these relations to ``model``."""
        if model is not None:
            yield from (step for step, _ in self.program.units(model, *relations))

    def sharded(self, model: Obj | None, before: AnyStep) -> bool:
        """Is it sharded itself by then?"""
        return any(unit.precedes(before) for unit in self.units(model, Relation.SAME))

    def part_sharded(self, model: Obj | None, before: AnyStep) -> bool:
        """Likewise, or something in it."""
        return any(unit.precedes(before) for unit in self.units(model, Relation.SAME, Relation.CONTAINS))

    def roots(self) -> Iterator[Root]:
        """Models that are sharded by one call for the whole, and by others for parts of it, and not again outside."""
        for step in self.trace.of(events.Sharded):
            if len(step.what.group) != 1 or step.what.listed:
                continue
            model = step.what.group[0]
            whole = [*self.units(model, Relation.SAME)]
            parts = tuple(self.units(model, Relation.CONTAINS))
            if whole == [step] and parts and not any(self.units(model, Relation.INSIDE)):
                yield Root(model, step, parts)

    # -- training ------------------------------------------------------------------------

    def learns(self, model: Obj | None) -> bool:
        """Has an optimizer its parameters? Where the parameters of no optimizer were seen, any model may learn."""
        held = [held.model for made in self.trace.of(events.Optimizer) for held in made.what.held]
        return not held or any(self.program.related(model, each) for each in held)

    @cached_property
    def trained_calls(self) -> tuple[Step[events.Called], ...]:
        """Of each loss the call of a sharded model that comes last before its ``backward``."""
        calls = [call for call in self.trace.of(events.Called) if self._outermost(call)]
        before = ([call for call in calls if call.index < loss.index] for loss in self.trace.of(events.Backward))
        return tuple(dict.fromkeys(found[-1] for found in before if found))

    def _outermost(self, call: Step[events.Called]) -> bool:
        """Is it a call by the training itself, of a model that no framework has its hands on?"""
        if call.subject is None or not call.what.hooked or call.what.inside or call.what.inference is not None:
            return False
        sharded = self.part_sharded(call.subject, call) and not self.program.managed(call.subject)
        return sharded and self.learns(call.subject)

    # -- places ---------------------------------------------------------------------------

    def parting(self, one: AnyStep, other: AnyStep) -> tuple[Site, Site] | None:
        """The two places in the innermost function that leads to both steps."""
        pairs = [*zip(one.frames, other.frames, one.when.chain, other.when.chain)]
        same = [(mine, its) for mine_in, its_in, mine, its in pairs if mine_in == its_in]
        return next(((mine, its) for mine, its in reversed(same) if mine != its), None)

    def in_order(self, first: AnyStep, second: AnyStep) -> tuple[Text, ast.stmt, ast.stmt] | None:
        """Two statements of one block that lead to the two steps; None where other than whole statements part them."""
        sites = self.parting(first, second)
        text = self.text(sites[0].path) if sites is not None else None
        if sites is None or text is None:
            return None
        mine, its = (text.statements(site) for site in sites)
        for statement in mine:
            block = text.block(statement)
            other = next((each for each in its if each in block), None)
            if other is not None:
                good = other is not statement and text.alone(statement) and text.alone(other)
                return (text, statement, other) if good and block.index(statement) < block.index(other) else None
        return None


def is_plain(node: ast.expr) -> bool:
    """A name, or attributes and numbered items of one: an expression that can be written again nearby."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and is_plain(node.value)
    return isinstance(node, ast.Name) or isinstance(node, ast.Attribute) and is_plain(node.value)
