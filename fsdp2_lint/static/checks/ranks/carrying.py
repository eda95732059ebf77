"""Which names of a function carry what was made of a value: too many rather than too few, so only for *unknown*."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from astroid import nodes

from ....vocab.declared import record
from ....vocab.finding import Site
from ...frontend.names import names_in
from ...frontend.project import Project
from ...interpreter.syntax import by_position, is_method
from ..shared.loops import innermost
from ..shared.source_edits import holds

BINDS = (nodes.Assign, nodes.AnnAssign, nodes.AugAssign)
# Methods that put what they are given into what they are called on.
_PUTS = frozenset(
    "append appendleft extend add insert update setdefault put set fill_ copy_ add_ mul_ index_copy_ scatter_".split()
)


@record
class Carried:
    """What stands at ``site`` (a call that returned it) and in ``names``; ``kept``: those that are attributes."""

    names: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    site: Site | None = None

    def by(self, node: nodes.NodeNG) -> bool:
        """Does the expression have any of it?"""
        return bool(self.names & names_in(node)) or self.site is not None and holds(node, self.site)

    def bound(self, target: nodes.NodeNG) -> Carried:
        """With what is now in a target, too."""
        while isinstance(target, nodes.Subscript):
            target = target.value
        if isinstance(target, (nodes.AssignAttr, nodes.Attribute)):
            name = frozenset({target.attrname})
            return replace(self, names=self.names | name, kept=self.kept | name)
        found = self
        for each in target.elts if isinstance(target, (nodes.Tuple, nodes.List)) else ():
            found = found.bound(each)
        return replace(found, names=found.names | names_in(target))

    def through(self, parts: Iterable[nodes.NodeNG]) -> Carried:
        """With what assignments, loops and methods that fill something pass on, line by line."""
        found = self
        for node in parts:
            for target in _passed_on(node, found):
                found = found.bound(target)
        return found


def _passed_on(node: nodes.NodeNG, carried: Carried) -> list[nodes.NodeNG]:
    """The targets that a statement puts some of it into."""
    if isinstance(node, BINDS):
        targets = node.targets if isinstance(node, nodes.Assign) else [node.target]
        return targets if node.value is not None and carried.by(node.value) else []
    if isinstance(node, nodes.For):
        return [node.target] if carried.by(node.iter) else []
    if isinstance(node, nodes.Call) and isinstance(node.func, nodes.Attribute) and node.func.attrname in _PUTS:
        return [node.func.expr] if any(map(carried.by, given(node))) else []
    return []


def noted(parts: Iterable[nodes.NodeNG]) -> Carried:
    """What statements keep, whatever it is."""
    found = Carried()
    for node in parts:
        if isinstance(node, BINDS):
            for target in node.targets if isinstance(node, nodes.Assign) else [node.target]:
                found = found.bound(target)
        elif isinstance(node, nodes.Call) and isinstance(node.func, nodes.Attribute) and node.func.attrname in _PUTS:
            found = found.bound(node.func.expr)
    return found


def given(call: nodes.Call) -> list[nodes.NodeNG]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def parameters(function: nodes.NodeNG, call: nodes.Call, carried: Carried) -> Carried:
    """What of it a function has under the names of its parameters, where this call has come to it."""
    if not isinstance(function, nodes.FunctionDef):
        return Carried(carried.kept, carried.kept)
    names = [each.name for each in by_position(function.args)]
    places = names[is_method(function) :]  # the object itself is not among the arguments
    found = set(carried.kept)
    for position, each in enumerate(call.args):
        if carried.by(each):
            rest = places[position:] if isinstance(each, nodes.Starred) else places[position : position + 1]
            found |= set(rest or [function.args.vararg])
    for keyword in call.keywords:
        if carried.by(keyword.value):
            own = {*names, *(each.name for each in function.args.kwonlyargs)}
            found |= {keyword.arg} if keyword.arg in own else {function.args.kwarg} if keyword.arg else own
    return Carried(frozenset(found - {None}), carried.kept)


def parts_of(scope: nodes.NodeNG) -> list[nodes.NodeNG]:
    """What a function does, line by line; looked for once."""
    found: list[nodes.NodeNG] | None = getattr(scope, "fsdp2_parts", None)
    if found is None:
        kinds = (*BINDS, nodes.For, nodes.Call, nodes.Return)
        found = scope.fsdp2_parts = sorted(scope.nodes_of_class(kinds), key=lambda node: int(node.lineno))
    return found


def scope_at(project: Project, site: Site) -> nodes.NodeNG | None:
    """The function around a place."""
    module = project.module(site.path)
    return innermost(module.tree, site) if module is not None else None
