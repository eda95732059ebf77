"""Loops of the source around what happens: read off the places of a step and of the calls that led to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from astroid import nodes

from ....vocab.declared import record
from ....vocab.finding import Site
from ...domain.events import AnyStep
from ...frontend.project import Project


@record
class Loop:
    """One run of a loop: the calls that led to it, and its statement."""

    calls: tuple[Site, ...]
    site: Site
    node: nodes.For | nodes.While

    @property
    def once(self) -> bool:
        """Is it left in its first round, or written for one round?"""
        last = self.node.body[-1]
        if isinstance(last, (nodes.Break, nodes.Return, nodes.Raise)):
            return True
        test = self.node.iter if isinstance(self.node, nodes.For) else None
        if isinstance(test, (nodes.List, nodes.Tuple)):
            return len(test.elts) < 2
        return isinstance(test, nodes.Call) and test.as_string() in ("range(1)", "range(0, 1)")


def loops_around(project: Project, step: AnyStep) -> Iterator[Loop]:
    """Outermost first."""
    for depth, site in enumerate(step.when.chain):
        module = project.module(site.path)
        if module is None:
            continue
        for node in enclosing(module.tree, site, nodes.For, nodes.While):
            place = Site(site.path, node.fromlineno, node.col_offset + 1)
            yield Loop(step.when.chain[:depth], place, node)


def enclosing(tree: nodes.Module, site: Site, *kinds: type[nodes.NodeNG]) -> list[Any]:
    """Statements of these kinds, in the function that holds ``site``, that have it in their body; outermost first."""
    around = (node for node in _all(tree, *kinds) if node.body[0].fromlineno <= site.row <= node.body[-1].tolineno)
    if not (found := list(around)):
        return found  # as mostly; of which function the place is, is dear to ask
    scope = innermost(tree, site)
    return [node for node in found if node.scope() is scope]


def ends_behind(project: Project, step: AnyStep, loop: nodes.NodeNG) -> bool:
    """Is there no further round of a loop after this step, because what it stands in ends with a way out?"""
    for site in step.when.chain if isinstance(loop, (nodes.For, nodes.While)) else ():
        module = project.module(site.path)
        if module is None or module.tree is not loop.root():
            continue
        block: list[nodes.NodeNG] = loop.body
        leaves: tuple[type[nodes.NodeNG], ...] = (nodes.Return, nodes.Raise, nodes.Break)
        while inside := [each for each in block if each.fromlineno <= site.row <= each.tolineno]:
            if isinstance(inside[0], (nodes.For, nodes.While)):
                leaves = (nodes.Return, nodes.Raise)
            parts = (getattr(inside[0], name, None) or () for name in ("body", "orelse", "handlers", "finalbody"))
            block = next((part for part in parts if part and part[0].fromlineno <= site.row <= part[-1].tolineno), [])
            if block and isinstance(block[-1], leaves):
                return True
    return False


def innermost(tree: nodes.Module, site: Site) -> nodes.NodeNG:
    """The function or class around a place; the file where there is none."""
    return max(
        (scope for scope in _all(tree, nodes.FunctionDef, nodes.ClassDef) if _holds(scope, site)),
        key=lambda scope: int(scope.fromlineno),
        default=tree,
    )


def _holds(scope: nodes.NodeNG, site: Site) -> bool:
    return bool(scope.fromlineno <= site.row <= scope.tolineno)


def _all(tree: nodes.Module, *kinds: type[nodes.NodeNG]) -> list[Any]:
    """All nodes of these kinds, from the top of the file; looked for once."""
    kept: dict[Any, list[Any]] | None = getattr(tree, "fsdp2_nodes", None)
    if kept is None:
        kept = tree.fsdp2_nodes = {}
    if kinds not in kept:
        kept[kinds] = sorted(tree.nodes_of_class(kinds), key=lambda node: int(node.fromlineno))
    return kept[kinds]
