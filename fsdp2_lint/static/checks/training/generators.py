"""Generators of parameters: has one been read to its end before?"""

from __future__ import annotations

from astroid import nodes

from ....vocab.answers import Answer, unknown, yes
from ....vocab.events.training import Spent
from ....vocab.finding import Fix, Moment
from ...domain import events
from ...domain.events import Step
from ...domain.relations import Relation
from ..shared.loops import Loop, innermost
from ..shared.name_uses import said
from ..shared.program import AtStep, Program
from ..shared.source_edits import inserted, is_global, value_at


class StaticGenerator(AtStep[events.Consumed]):
    """As of ``step``, which reads it."""

    def spent(self) -> Answer[Spent]:
        before = [
            earlier
            for earlier in self.program.reads[self.step.what.generator]
            if not earlier.same_call(self.step) and earlier.precedes(self.step)
        ]
        made = self._made()
        again = made is not None and self._again(made)
        if self.step.what.seen:
            for earlier in before:
                if earlier.what.whole:
                    return self._spent(earlier.when, f"{earlier.what.by} reads it to its end")
            if made is not None and again:
                return self._spent(made.when, "it is made once, before the loop, and empty from the second round on")
        unseen = next((each for each in (*before, self.step) if not each.what.seen), None)
        if unseen is not None and (before or again):
            return unknown(f"whether {unseen.what.by} reads a generator of parameters that it is given is not known")
        return self.program.nowhere(events.Consumed)

    def _spent(self, when: Moment, words: str) -> Answer[Spent]:
        return yes(Spent(when, words, _kept_in_list(self.program, self._made())))

    def _yields(self, loop: Loop) -> bool:
        """May the generator be an element of what the loop goes through, another one in each round?"""
        if not isinstance(loop.node, nodes.For):
            return False
        bound = {name.name for name in loop.node.target.nodes_of_class(nodes.AssignName)}
        return bool(bound & self._handed_on(loop))

    def _handed_on(self, loop: Loop) -> set[str]:
        """Names by which a loop may hand the generator on, call by call; none if it comes here another way."""
        names, depth = set[str](), len(loop.calls)
        for at in range(len(self.step.when.chain) - 1, depth - 1, -1):
            site = self.step.when.chain[at]
            module = self.program.project.module(site.path)
            scope = innermost(module.tree, site) if module is not None else None
            if scope is None:
                return set()
            names = {name.name for name in scope.nodes_of_class(nodes.Name) if name.lineno == site.row}
            given = {arg.name for arg in scope.args.arguments} if isinstance(scope, nodes.FunctionDef) else set()
            if loop.node.parent_of(scope):
                return names  # a function that the round defines has the loop's names
            if at > depth and not names & given:
                return set()
        return names

    def _made(self) -> Step[events.Generator] | None:
        kind, key = self.step.what.generator
        if kind == "step":
            return next((made for made in self.program.trace.of(events.Generator) if made.index == key), None)
        return next((made for made in self.program.trace.of(events.Generator) if made.what.made == key), None)

    def _again(self, made: Step[events.Generator]) -> bool:
        """Does a loop come back here without making another one?"""
        around = set(self.program.loops(made))
        rounds = [loop for loop in self.program.loops(self.step) if loop not in around and not self._yields(loop)]
        if not rounds or any(loop.once for loop in rounds):
            return False
        kept = [  # read in a later round, it may be, under the name of this one
            other
            for other in self.program.trace.of(events.Generator)
            if other.subject is made.subject and other.index > made.index and _key(other) not in self.program.reads
        ]
        return not any(set(self.program.loops(other)) - around for other in kept)


def _key(made: Step[events.Generator]) -> tuple[str, int]:
    return ("list", made.what.made) if made.what.made is not None else ("step", made.index)


def _kept_in_list(program: Program, made: Step[events.Generator] | None) -> Fix | None:
    """``list(...)`` around what is read twice, where nothing shards its model any more.

    A list that is made earlier holds what fully_shard replaces (FSDP601). It is not safe: what the second reader has to
    do was not done so far, such as clipping, and the numbers of the job change with it.
    """
    if made is None:
        return None
    site = made.when.at
    alike = [step for step in program.trace.of(events.Generator) if step.when.at == site]
    if not all(_sharded_by_then(program, step) for step in alike):
        return None
    value = value_at(program, site, nodes.Assign, nodes.Return)
    module = program.project.module(site.path)
    if value is None or module is None or "list" in module.bindings or not is_global("list", value):
        return None
    names = _kept_as(program, value.parent)
    if "" in names or _stepped_through(program, names):
        return None
    if isinstance(value, nodes.GeneratorExp):
        return Fix((inserted(site.path, site.row, site.column, "list"),), safe=False)  # its own parentheses do
    start, end = (site.row, site.column, "list("), (site.end_row, site.end_column, ")")
    return Fix((inserted(site.path, *start), inserted(site.path, *end)), safe=False)


def _sharded_by_then(program: Program, made: Step[events.Generator]) -> bool:
    """Has all happened, when a generator is made, that shards anything of its model?"""
    assert made.subject is not None
    related = (relation for relation in Relation if relation is not Relation.NONE)
    return all(step.driven_before(made) for step, _ in program.units(made.subject, *related))


def _kept_as(program: Program, statement: nodes.NodeNG) -> set[str]:
    """The names under which others get what a statement assigns or returns; "" is one that has none."""
    if isinstance(statement, nodes.Assign):
        return {said(target) for target in statement.targets}
    function = getattr(statement.scope(), "name", "")
    assigned = (each for part in program.machine.reached for each in part.nodes_of_class(nodes.Assign))
    calls = (each for each in assigned if isinstance(each.value, nodes.Call) and said(each.value.func) == function)
    return {function, *(said(target) for each in calls for target in each.targets)}


def _stepped_through(program: Program, names: set[str]) -> bool:
    """Is there a ``next(name)``, which a list does not allow?"""
    calls = [call for part in program.machine.reached for call in part.nodes_of_class(nodes.Call)]
    args = (arg for call in calls if said(call.func) == "next" for arg in call.args[:1])
    return any(said(arg.func if isinstance(arg, nodes.Call) else arg) in names for arg in args)
