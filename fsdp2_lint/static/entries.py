"""Where a program begins: scripts that can reach a sharding call, then what no script calls.

Interpreting is expensive, so this works on names alone: which functions may call a function that mentions
``fully_shard`` (``frontend/callers.py``). That overestimates, which costs time and never a finding.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from astroid import nodes

from ..files.kinds import is_test
from ..vocab.declared import record
from ..vocab.rule import ProgramKey
from .budget import BUDGET
from .frontend.callers import Callers, reaching
from .frontend.common_names import GENERIC
from .frontend.definitions import (
    Definition,
    classes_in,
    definitions_in,
    importers_of,
    importers_of_one,
    mentions_seed,
    objects_in,
    with_bases,
)
from .frontend.facts import SEED, Class, Mark
from .frontend.joining import joins, registered
from .frontend.module import Module
from .frontend.project import Project

Where = tuple[str, int, str]  # a file, a row and a name: what is run, told without its syntax tree


def where(node: nodes.NodeNG) -> Where:
    """Of a function or a class the row where it begins, with its decorators."""
    return node.root().file, node.lineno, "" if isinstance(node, nodes.Module) else getattr(node, "name", "")


@record
class Entry:
    kind: str  # "script", "function" or "class"
    name: str
    where: Where

    @property
    def path(self) -> str:
        return self.where[0]

    @property
    def key(self) -> ProgramKey:
        """What verdicts that belong to no model stand under."""
        kind: Literal["script", "part"] = "script" if self.kind == "script" else "part"
        name = self.name.removeprefix(f"{self.path}:")
        return ProgramKey(kind, self.path, os.path.basename(name) if kind == "script" else name)

    def found_in(self, module: Module) -> nodes.NodeNG | None:
        """Its syntax tree; None if the file has been read differently, which only a defect can bring about."""
        kinds = {"script": nodes.Module, "function": nodes.FunctionDef, "class": nodes.ClassDef}
        return next((node for node in module.tree.nodes_of_class(kinds[self.kind]) if where(node) == self.where), None)


def script(path: str) -> Entry:
    return Entry("script", path, (path, 0, ""))


def function(path: str, mark: Mark) -> Entry:
    name, row = mark
    return Entry("function", f"{path}:{name}", (path, row, name))


def class_entry(path: str, mark: Mark) -> Entry:
    name, row = mark
    return Entry("class", f"{path}:{name}", (path, row, name))


@dataclass(slots=True)
class Plan:
    project: Project
    seeds: list[str] = field(default_factory=list)
    stated: list[Entry] = field(default_factory=list)  # what the project's settings name
    absent: list[str] = field(default_factory=list)  # what they name and the files that are checked do not hold
    scripts: list[Entry] = field(default_factory=list)
    sharding: list[Definition] = field(default_factory=list)
    reaching: list[Definition] = field(default_factory=list)
    subclasses: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # by name of the base: file and name
    shares: dict[str, set[str]] = field(default_factory=dict)  # the files with sharding code that each file comes to
    calls: Callers | None = None
    _callers: dict[int, list[Definition]] = field(default_factory=dict)  # by definition: those that can be entered
    _not_run: list[Entry] = field(default_factory=list)

    def left_out(self, reached: set[Where]) -> list[str]:
        """What nothing reached because the table of budgets keeps it from being run."""
        return list(dict.fromkeys(entry.name for entry in self._not_run if entry.where not in reached))

    def callers(self, reached: set[Where]) -> Iterator[Entry]:
        """Outermost callers of sharding code that nothing reached so far; the code itself last."""
        later: list[Entry] = []
        for definition in self.sharding:
            callers = self._called_by(definition)
            self._not_run += map(_function, callers[BUDGET.callers :])
            for caller in callers[: BUDGET.callers]:
                yield from self._until_reached(self._climb([definition, caller]), reached, later)
            if self.project.begins_in(definition.path):
                yield from self._until_reached([definition], reached, later)
        yield from later

    def untouched(self, reached: set[Where]) -> Iterator[Entry]:
        """Classes whose sharding code has run, but not in the order in which their own initialiser runs it."""
        yield from self._heirs(reached)
        for definition in self.reaching:
            if definition.owner and definition.name == "__init__" and _place(definition) not in reached:
                yield _entry(definition)

    def _heirs(self, reached: set[Where]) -> Iterator[Entry]:
        """Classes that inherit sharding code, of which nothing has run: what they add may train the model."""
        seen: dict[Where, None] = {}
        for definition in self.reaching:
            entry = _entry(definition) if definition.owner else None
            for heir in self._derived(entry) if entry is not None and entry.where not in seen else ():
                if heir.where not in seen and not any(each in reached for each in self._own(heir)):
                    yield heir
                seen[heir.where] = None
            if entry is not None:
                seen[entry.where] = None

    def _own(self, heir: Entry) -> list[Where]:
        """The methods of a class's own body."""
        cls = self._class(heir.path, heir.where[2])
        return [(heir.path, row, name) for name, row in cls.methods] if cls is not None else []

    def _class(self, path: str, name: str) -> Class | None:
        """The first class of this name at the top level of a file."""
        facts = self.project.facts(path)
        return next((each for each in facts.classes if each.name == name), None) if facts is not None else None

    def _climb(self, chain: list[Definition]) -> list[Definition]:
        """Who calls the last one, and who calls that, by the first caller of each."""
        while len(chain) < BUDGET.climb and (
            above := [each for each in self._called_by(chain[-1]) if each not in chain]
        ):
            chain.append(above[0])
        return chain[1:]

    def _until_reached(self, chain: list[Definition], reached: set[Where], later: list[Entry]) -> Iterator[Entry]:
        """Entries from the outermost in, until the innermost of the chain was run.

        Of a class's subclasses one comes now; the others come when all code has had its turn.
        """
        inner = _place(chain[0])
        for candidate in reversed(chain):
            if inner in reached:
                return
            if candidate.name:
                entry = _entry(candidate)
                first, *others = self._derived(entry) or [entry]
                yield first
                later += others
        if inner not in reached:
            yield _function(chain[0])

    def _called_by(self, callee: Definition) -> list[Definition]:
        """In the order in which they come to sharding code."""
        if id(callee) not in self._callers:
            calling = {id(each) for each in self.calls.of(callee)} if self.calls is not None else set[int]()
            self._callers[id(callee)] = [
                each for each in self.reaching if each.name and each is not callee and id(each) in calling
            ]
        return self._callers[id(callee)]

    def _derived(self, entry: Entry, above: tuple[str, ...] = ()) -> list[Entry]:
        """Who inherits a class that nobody builds: those are what a framework builds, with all their methods."""
        found: list[Entry] = []
        own = entry.where[2]
        for path, name in self.subclasses.get(own, ()) if entry.kind == "class" else ():
            cls = self._class(path, name)
            if cls is not None and name not in (*above, own):
                derived = class_entry(path, (name, cls.row))
                found += self._derived(derived, (*above, own)) or [derived]
        self._not_run += found[BUDGET.subclasses :]
        return found[: BUDGET.subclasses]


def _place(definition: Definition) -> Where:
    return definition.path, definition.code.row, definition.name


def _entry(definition: Definition) -> Entry:
    """A method is entered through its class."""
    holder = definition.code.holder if definition.owner else None
    if holder is not None:
        return class_entry(definition.path, holder)
    return _function(definition)


def _function(definition: Definition) -> Entry:
    return function(definition.path, (definition.name, definition.code.row))


def find_entries(project: Project, explicit: frozenset[str]) -> Plan:
    """Scripts first, then functions and classes that shard and that no script was seen to call."""
    plan = Plan(project)
    plan.seeds = [path for path in project.scope if mentions_seed(project, path)]
    if not plan.seeds:
        return plan
    known = {*plan.seeds, *importers_of(project, plan.seeds)}
    apart = [path for path in project.scope if path not in known and path not in project.unreadable]
    called = joins(apart, plan.seeds, project.data, project.facts)
    for path, seed in (*called, *registered(project, apart, plan.seeds)):
        project.imported_by.setdefault(seed, []).append(path)  # as if it were imported
    importers = importers_of(project, plan.seeds)
    for seed in plan.seeds:
        for path in (seed, *importers_of_one(project, seed)):
            plan.shares.setdefault(path, set()).add(seed)
    project.relevant = {*plan.seeds, *importers}
    definitions = [each for path in [*plan.seeds, *importers] for each in project.careful(definitions_in, path)]
    plan.sharding = [each for each in definitions if SEED in each.code.mentions]
    sharding = {id(each) for each in plan.sharding}
    others = {each.name for each in definitions if each.owner and id(each) not in sharding} | GENERIC
    for each in definitions:
        named_so = each.name == SEED  # a model that shards itself, perhaps through a helper
        if each.owner and (named_so or id(each) in sharding and each.name not in others):
            project.sharding_methods.setdefault(each.name, []).append((each.path, each.owner))
    classes = classes_in(project, with_bases(project, [*plan.seeds, *importers]))
    objects = objects_in(project, plan.seeds)
    plan.calls = Callers(project, definitions, classes, objects)
    plan.reaching = reaching(plan.sharding, plan.calls)
    for each in plan.reaching:
        project.reaching.setdefault(each.path, set()).add((each.name, each.code.row))
        if each.owner:
            project.reaching_classes.setdefault(each.path, set()).add(each.owner)
            project.called_in_turn |= {each.name} & each.code.mentions.all()
    base = str(project.root)  # from which the names of tests count
    if project.programs is None:
        base = os.path.commonpath([os.path.dirname(path) for path in project.files])

    def checked(path: str) -> bool:
        return path in explicit or not is_test(os.path.relpath(path, base))

    project.checked = checked
    plan.reaching = [each for each in plan.reaching if checked(each.path) and project.begins_in(each.path)]
    plan.sharding = [each for each in plan.sharding if each.name and checked(each.path)]
    for name in project.entry_points:
        if (stated := _stated(project, name)) is None:
            plan.absent.append(name)
        elif project.begins_in(stated.path):
            plan.stated.append(stated)
    scripts = {entry.path for entry in plan.stated if entry.kind == "script"}
    for path in [each.path for each in plan.reaching if not each.name and each.path not in scripts]:
        facts = project.facts(path)
        if facts is not None and facts.script:
            plan.scripts.append(script(path))
    for path in filter(project.begins_in, filter(checked, [*plan.seeds, *importers])):
        facts = project.facts(path)
        for cls in facts.classes if facts is not None else ():
            for base_name in cls.bases:
                plan.subclasses.setdefault(base_name, []).append((path, cls.name))
    return plan


def _stated(project: Project, name: str) -> Entry | None:
    """``train.py`` or ``train.py:main``; None if the files that are checked do not hold it."""
    stem, _, named = name.partition(".py:")
    path = os.path.realpath(f"{stem}.py" if named else name)
    facts = project.facts(path) if path in project.files else None
    if facts is None:
        return None
    if not named:
        return script(path)
    return next((function(path, mark) for mark in facts.outer if mark[0] == named), None)
