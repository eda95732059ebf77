"""Loops of the source around what happens: read off the places of a step and of the calls that led to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from astroid import nodes

from ...vocab.finding import Site
from ..project import Project
from ..trace import Step


@dataclass(frozen=True, slots=True)
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


def loops_around(project: Project, step: Step) -> Iterator[Loop]:
    """Outermost first."""
    for depth, site in enumerate(step.when.chain):
        module = project.module(site.path)
        if module is None:
            continue
        for node in _enclosing(module.tree, site):
            place = Site(site.path, node.fromlineno, node.col_offset + 1)
            yield Loop(step.when.chain[:depth], place, node)


def _enclosing(tree: nodes.Module, site: Site) -> list[nodes.For | nodes.While]:
    """Loops of the function that holds ``site`` which run it again and again."""
    innermost = max(
        (scope for scope in _scopes(tree) if _holds(scope.fromlineno, scope.tolineno, site)),
        key=lambda scope: scope.fromlineno,
        default=tree,
    )
    return [
        loop
        for loop in _loops(tree)
        if loop.scope() is innermost and _holds(loop.body[0].fromlineno, loop.body[-1].tolineno, site)
    ]


def _holds(first: int, last: int, site: Site) -> bool:
    return bool(first <= site.row <= last)


def _scopes(tree: nodes.Module) -> list[nodes.NodeNG]:
    found: list[nodes.NodeNG] | None = getattr(tree, "fsdp2_scopes", None)
    if found is None:
        found = tree.fsdp2_scopes = list(tree.nodes_of_class((nodes.FunctionDef, nodes.ClassDef)))
    return found


def _loops(tree: nodes.Module) -> list[nodes.For | nodes.While]:
    found: list[nodes.For | nodes.While] | None = getattr(tree, "fsdp2_loops", None)
    if found is None:
        found = sorted(tree.nodes_of_class((nodes.For, nodes.While)), key=lambda loop: int(loop.fromlineno))
        tree.fsdp2_loops = found
    return found
