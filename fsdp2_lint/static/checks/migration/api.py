"""Uses of what not every version of torch has, and whether the program asks for the version before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from astroid import nodes

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Moment, Place
from ....vocab.target import Version, in_words
from ...budget import BUDGET
from ...domain import events
from ...domain.relations import Relation
from ...frontend.module import Module
from ...frontend.project import Project
from ...frontend.torch_api import History, absent
from ..shared.closure import excluded
from ..shared.program import AtStep
from .migration_checks import StaticConverted

_ASKS = re.compile(
    r"version|hasattr|getattr|signature|inspect|importlib|find_spec|parameters\b.*\bin\b|_available|AttributeError|"
    r"TypeError|ImportError",
    re.IGNORECASE,
)
_ELSEWHERE = "the file lies in a part of the project that asks for a newer torch"
_GATED = "the program asks for the version, or allows for its absence, before"


@dataclass(frozen=True, slots=True)
class ImportedName:
    """A name that is imported by its public path."""

    when: Moment
    history: History
    gated: bool
    oldest: Version | None  # that the file has to run on

    def absent(self, version: Version) -> Answer[Place]:
        words = absent(self.history, version)
        if words and (self.gated or _is_newer(self.oldest, version)):
            return unknown(_GATED if self.gated else _ELSEWHERE)
        return yes(Place(self.when, words)) if words else _known(version)


class StaticUse(AtStep[events.ApiUsed]):
    """A keyword that is passed, or a method of a sharded module that is called."""

    def absent(self, version: Version) -> Answer[Place]:
        """Does this torch lack it? yes: since or until when. Unknown where the program asks, or has a fallback."""
        words = absent(self.step.what.history, version)
        if not words:
            return _known(version)
        if _is_newer(self.program.project.oldest_torch(self.step.when.at.path), version):
            return unknown(_ELSEWHERE)
        if self.step.subject is not None:
            sharded = StaticConverted(self.program, self.step, self.step.subject).sharded_by(Relation.SAME)
            if not sharded.surely:
                return sharded
        paths = (self.step.guard, *self.step.what.paths)
        asked = any(_ASKS.search(repr(formula)) for path in paths for formula, _ in path.literals)
        project, written = self.program.project, self.step.what.written
        if asked or any(path.blurred for path in paths) or any(_stands_gated(project, *each) for each in written):
            return unknown(_GATED)
        return yes(Place(self.step.when, words))


def _known(version: Version) -> Answer[Place]:
    return excluded(f"it is in {in_words(version)}")


def _is_newer(oldest: Version | None, version: Version) -> bool:
    """Does a file ask for more than what the root of the project pins?"""
    return oldest is not None and oldest > version


def _stands_gated(project: Project, module: Module, node: nodes.NodeNG) -> bool:
    """Is it written inside a ``try`` with handlers, or under a condition that speaks of versions or flags for them?"""
    at = node
    while at.parent is not None and not isinstance(at, nodes.Module):
        parent = at.parent
        if isinstance(parent, nodes.Try) and parent.handlers and at in parent.body:
            return True
        if (
            isinstance(parent, (nodes.If, nodes.IfExp))
            and at is not parent.test
            and _asks(project, module, parent.test)
        ):
            return True
        at = parent
    return False


def _asks(project: Project, module: Module, test: nodes.NodeNG) -> bool:
    if any(_ASKS.search(part.as_string()) for part in (test, *_called_in(project, module, test))):
        return True
    names = {name.name for name in test.nodes_of_class(nodes.Name)}
    return any(_is_flag(statement) for name in names for statement in module.bindings.get(name, ()))


def _called_in(project: Project, module: Module, test: nodes.NodeNG) -> Iterator[nodes.NodeNG]:
    """The functions that a condition calls, directly or not, or whose answer it has by a name of the file."""
    names = {name.name for name in test.nodes_of_class(nodes.Name)}
    values = [node.value for name in names for node in module.bindings.get(name, ()) if isinstance(node, nodes.Assign)]
    for part in (test, *values):
        for name in part.nodes_of_class(nodes.Name):
            if not _is_value(module, name):
                code = islice(project.relevance.code_of(module, _path_from(name)), 1, BUDGET.name_parts)
                yield from (each for _, each in code if isinstance(each, nodes.FunctionDef))


def _is_value(module: Module, name: nodes.Name) -> bool:
    """Was it assigned in this file? What is an attribute of such a value is not looked up by its name."""
    bound = module.bindings.get(name.name, ())
    return bool(bound) and all(isinstance(node, nodes.Assign) for node in bound)


def _path_from(name: nodes.Name) -> nodes.NodeNG:
    """``utils.torch.is_new`` where ``utils`` stands."""
    at: nodes.NodeNG = name
    while isinstance(at.parent, nodes.Attribute):
        at = at.parent
    return at


def _is_flag(statement: nodes.NodeNG) -> bool:
    """Does a top-level statement set a name by what this torch has?"""
    parent = statement.parent
    if isinstance(parent, (nodes.Try, nodes.ExceptHandler)):
        return True
    if isinstance(parent, nodes.If) and _ASKS.search(parent.test.as_string()):
        return True
    return isinstance(statement, nodes.Assign) and bool(_ASKS.search(statement.value.as_string()))
