"""Where a program begins: scripts that can reach a sharding call, then what no script calls.

Interpreting is dear, so this works on names alone: which functions mention a function that
mentions ``fully_shard``. That overestimates, which costs time and never a finding.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from astroid import nodes

from ..files.test_names import is_test
from ..vocab.rule import ProgramKey
from .budget import BUDGET
from .frontend.definitions import (
    GENERIC,
    SEED,
    Definition,
    definitions_in,
    importers_of,
    importers_of_one,
    inheritance,
    mentions_seed,
    reaching,
)
from .frontend.module import Module
from .frontend.project import Project

Where = tuple[str, int, str]  # a file, a row and a name: what is run, told without its syntax tree


def where(node: nodes.NodeNG) -> Where:
    return node.root().file, node.fromlineno, getattr(node, "name", "")


@dataclass(frozen=True, slots=True)
class Entry:
    kind: str  # "script", "function" or "class"
    name: str
    module: Module
    node: nodes.NodeNG

    @property
    def where(self) -> Where:
        return where(self.node)

    @property
    def key(self) -> ProgramKey:
        """What verdicts that belong to no model stand under."""
        kind: Literal["script", "part"] = "script" if self.kind == "script" else "part"
        name = self.name.removeprefix(f"{self.module.path}:")
        return ProgramKey(kind, self.module.path, os.path.basename(name) if kind == "script" else name)


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
    _found: dict[int, Entry | None] = field(default_factory=dict)  # by definition, as is the next
    _called_by: dict[int, list[Definition]] = field(default_factory=dict)
    _not_run: list[Definition | Entry] = field(default_factory=list)

    def left_out(self, reached: set[Where]) -> list[str]:
        """What nothing reached because the table of budgets keeps it from being run."""
        entries = [entry for each in self._not_run if (entry := each if isinstance(each, Entry) else self._find(each))]
        return list(dict.fromkeys(entry.name for entry in entries if entry.where not in reached))

    def callers(self, reached: set[Where]) -> Iterator[Entry]:
        """Outermost callers of sharding code that nothing reached so far; the code itself last."""
        later: list[Entry] = []
        for definition in self.sharding:
            callers = self._callers(definition)
            self._not_run += callers[BUDGET.callers :]
            for caller in callers[: BUDGET.callers]:
                yield from self._until_reached(self._climb([definition, caller]), reached, later)
            if self.project.begins_in(definition.path):
                yield from self._until_reached([definition], reached, later)
        yield from later

    def untouched(self, reached: set[Where]) -> Iterator[Entry]:
        """Classes whose sharding code has run, but not in the order in which their own initialiser runs it."""
        yield from self._heirs(reached)
        for definition in self.reaching:
            initialiser = self._find(definition) if definition.owner and definition.name == "__init__" else None
            if initialiser is not None and initialiser.where not in reached and (entry := self._entry(definition)):
                yield entry

    def _heirs(self, reached: set[Where]) -> Iterator[Entry]:
        """Classes that inherit sharding code, of which nothing has run: what they add may train the model."""
        seen: dict[nodes.NodeNG, None] = {}
        for definition in self.reaching:
            entry = self._entry(definition) if definition.owner else None
            for heir in self._derived(entry) if entry is not None and entry.node not in seen else ():
                own = [node for node in heir.node.body if isinstance(node, nodes.FunctionDef)]
                if heir.node not in seen and not any(where(node) in reached for node in own):
                    yield heir
                seen[heir.node] = None
            if entry is not None:
                seen[entry.node] = None

    def _climb(self, chain: list[Definition]) -> list[Definition]:
        """Who calls the last one, and who calls that, by the first caller of each."""
        while len(chain) < BUDGET.climb and (above := [each for each in self._callers(chain[-1]) if each not in chain]):
            chain.append(above[0])
        return chain[1:]

    def _until_reached(self, chain: list[Definition], reached: set[Where], later: list[Entry]) -> Iterator[Entry]:
        """Entries from the outermost in, until the innermost of the chain was run.

        Of a class's subclasses one comes now; the others come when all code has had its turn.
        """
        inner = self._find(chain[0])
        for candidate in reversed(chain):
            if inner is None or inner.where in reached:
                return
            entry = self._entry(candidate)
            if entry is not None:
                first, *others = self._derived(entry) or [entry]
                yield first
                later += others
        if inner is not None and inner.where not in reached:
            yield inner

    def _callers(self, callee: Definition) -> list[Definition]:
        if id(callee) not in self._called_by:
            self._called_by[id(callee)] = [
                each for each in self.reaching if each.name and each is not callee and _calls(each, callee)
            ]
        return self._called_by[id(callee)]

    def _entry(self, definition: Definition) -> Entry | None:
        """A method is entered through its class."""
        found = self._find(definition)
        if found is None or not definition.owner:
            return found
        cls = found.node.parent
        if not isinstance(cls, nodes.ClassDef):
            return found
        return Entry("class", f"{definition.path}:{cls.name}", found.module, cls)

    def _derived(self, entry: Entry, above: tuple[str, ...] = ()) -> list[Entry]:
        """Who inherits a class that nobody builds: those are what a framework builds, with all their methods."""
        found: list[Entry] = []
        for path, name in self.subclasses.get(entry.node.name, ()) if entry.kind == "class" else ():
            module = self.project.module(path)
            node = module.top_level_class(name) if module is not None else None
            if module is not None and node is not None and name not in (*above, entry.node.name):
                derived = Entry("class", f"{path}:{name}", module, node)
                found += self._derived(derived, (*above, entry.node.name)) or [derived]
        self._not_run += found[BUDGET.subclasses :]
        return found[: BUDGET.subclasses]

    def _find(self, definition: Definition) -> Entry | None:
        if id(definition) not in self._found:
            self._found[id(definition)] = self._look_up(definition)
        return self._found[id(definition)]

    def _look_up(self, definition: Definition) -> Entry | None:
        module = self.project.module(definition.path)
        if module is None:
            return None
        for node in module.tree.nodes_of_class(nodes.FunctionDef):
            if node.name == definition.name and definition.row in (node.fromlineno, node.lineno):
                return Entry("function", f"{definition.path}:{definition.name}", module, node)
        return None


def _calls(caller: Definition, callee: Definition) -> bool:
    if callee.name in caller.mentions and (callee.name not in GENERIC or caller.path == callee.path):
        return True
    return bool(callee.owner and callee.owner in caller.mentions and caller.owner != callee.owner)


def find_entries(project: Project, explicit: frozenset[str]) -> Plan:
    """Scripts first, then functions and classes that shard and that no script was seen to call."""
    plan = Plan(project)
    plan.seeds = [path for path in project.scope if mentions_seed(project, path)]
    if not plan.seeds:
        return plan
    importers = importers_of(project, plan.seeds)
    for seed in plan.seeds:
        for path in (seed, *importers_of_one(project, seed)):
            plan.shares.setdefault(path, set()).add(seed)
    project.relevant = {*plan.seeds, *importers}
    definitions = [each for path in [*plan.seeds, *importers] for each in project.careful(definitions_in, path)]
    plan.sharding = [each for each in definitions if SEED in each.mentions]
    sharding = {id(each) for each in plan.sharding}
    others = {each.name for each in definitions if each.owner and id(each) not in sharding} | GENERIC
    for each in definitions:
        named_so = each.name == SEED  # a model that shards itself, perhaps through a helper
        if each.owner and (named_so or id(each) in sharding and each.name not in others):
            project.sharding_methods.setdefault(each.name, []).append((each.path, each.owner))
    plan.reaching = reaching(definitions, plan.sharding, project.imported_by)
    for each in plan.reaching:
        project.reaching.setdefault(each.path, set()).add((each.name, each.row))
        if each.owner:
            project.reaching_classes.setdefault(each.path, set()).add(each.owner)
    base = str(project.root)  # from which the names of tests count
    if project.programs is None:
        base = os.path.commonpath([os.path.dirname(path) for path in project.files])

    def checked(path: str) -> bool:
        return path in explicit or not is_test(os.path.relpath(path, base))

    plan.reaching = [each for each in plan.reaching if checked(each.path) and project.begins_in(each.path)]
    plan.sharding = [each for each in plan.sharding if each.name and checked(each.path)]
    for name in project.entry_points:
        if (stated := _stated(project, name)) is None:
            plan.absent.append(name)
        elif project.begins_in(stated.module.path):
            plan.stated.append(stated)
    scripts = {entry.module.path for entry in plan.stated if entry.kind == "script"}
    for path in [each.path for each in plan.reaching if not each.name and each.path not in scripts]:
        module = project.module(path)
        if module is not None and _is_script(module):
            plan.scripts.append(Entry("script", path, module, module.tree))
    for path in filter(project.begins_in, filter(checked, [*plan.seeds, *importers])):
        for base_name, name in project.careful(inheritance, path):
            plan.subclasses.setdefault(base_name, []).append((path, name))
    return plan


def _stated(project: Project, name: str) -> Entry | None:
    """``train.py`` or ``train.py:main``; None if the files that are checked do not hold it."""
    stem, _, function = name.partition(".py:")
    path = os.path.realpath(f"{stem}.py" if function else name)
    module = project.module(path) if path in project.files else None
    if module is None:
        return None
    if not function:
        return Entry("script", path, module, module.tree)
    for node in module.tree.body:
        if isinstance(node, nodes.FunctionDef) and node.name == function:
            return Entry("function", f"{path}:{function}", module, node)
    return None


def _is_script(module: Module) -> bool:
    """Does running the file do something: a main guard, or calls at its top level?"""
    for node in module.tree.body:
        if isinstance(node, nodes.If) and any(name.name == "__name__" for name in node.test.nodes_of_class(nodes.Name)):
            return True
        if isinstance(node, (nodes.For, nodes.While, nodes.With)):
            return True
        if isinstance(node, nodes.Expr) and isinstance(node.value, nodes.Call):
            return True
    return False
