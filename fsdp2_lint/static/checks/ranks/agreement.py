"""Do the ranks bring together what each of them has read? Then that each reads another number is meant."""

from __future__ import annotations

from dataclasses import replace

from astroid import nodes

from ....vocab.finding import Site
from ...domain import events
from ...domain.events import AnyStep, Step
from ...frontend.module import Module
from ..shared.name_uses import callables, said
from ..shared.program import Program
from ..shared.source_edits import holds, site_of
from .carrying import BINDS, Carried, given, parameters, parts_of, scope_at

Parts = list[nodes.NodeNG]


def agreed_later(program: Program, reading: AnyStep) -> str:
    """Which collective is given what was made of a value that ``reading`` read, by the names that carry it."""
    later, kept = exchanges(program, reading), Carried()
    for site in reversed(reading.when.chain if later else ()):
        module = program.project.module(site.path)
        statement = _statement(module, site) if module is not None else None
        if statement is None:
            break
        parts = [node for node in parts_of(statement.scope()) if node.lineno >= statement.lineno]
        carried = with_methods(program, parts, replace(kept, site=site))
        kept = Carried(carried.kept, carried.kept)
        if why := brought_together(program, later, parts, carried):
            return why
        if not returned(parts, carried):
            break
    return _elsewhere(program, later, kept)


def exchanges(program: Program, step: AnyStep) -> list[Step[events.Collective]]:
    """The collectives behind a step that are handed values; clipping and saving bring nothing together."""
    later = (
        each for each in program.trace.of(events.Collective) if each.index > step.index and each.what.given is not None
    )
    return list({each.place: each for each in later}.values())


def brought_together(program: Program, later: list[Step[events.Collective]], parts: Parts, carried: Carried) -> str:
    """Which of these exchanges is given some of it, here or in a function that is called here."""
    for step in later:
        for depth, site in enumerate(step.when.chain):
            call = _call_at(parts, site)
            if call is not None and _comes_to(program, step, depth, call, carried):
                return f"{step.what.name} ({step.when.at}) may bring together what the ranks have"
    return ""


def returned(parts: Parts, carried: Carried) -> bool:
    return any(isinstance(node, nodes.Return) and node.value is not None and carried.by(node.value) for node in parts)


def with_methods(program: Program, parts: Parts, carried: Carried) -> Carried:
    """As it is passed on here, also with the attributes in which functions of the project keep what they are given."""
    carried = carried.through(parts)
    calls = [node for node in parts if isinstance(node, nodes.Call) and any(map(carried.by, given(node)))]
    known = callables(program) if calls else {}
    for call in calls:
        for function in known.get(said(call.func), ()):
            kept = parameters(function, call, carried).through(parts_of(function)).kept
            carried = replace(carried, names=carried.names | kept, kept=carried.kept | kept)
    return carried.through(parts)


def _comes_to(program: Program, step: AnyStep, depth: int, call: nodes.Call, carried: Carried) -> bool:
    """Does a call on the way to an exchange hand on what the exchange is given?"""
    if depth + 1 == len(step.when.chain):
        return any(map(carried.by, given(call)))
    site = step.when.chain[depth + 1]
    function = scope_at(program.project, site)
    inside = parameters(function, call, carried)
    if function is None or not inside.names:
        return False
    parts = parts_of(function)
    inner = _call_at(parts, site)
    return inner is not None and _comes_to(program, step, depth + 1, inner, inside.through(parts))


def _elsewhere(program: Program, later: list[Step[events.Collective]], kept: Carried) -> str:
    """Which exchange is given what attributes keep, in whichever function."""
    scopes = dict.fromkeys(scope_at(program.project, site) for step in later for site in step.when.chain if kept.names)
    for scope in scopes:
        parts = parts_of(scope) if scope is not None else []
        if why := brought_together(program, later, parts, kept.through(parts)):
            return why
    return ""


def _call_at(parts: Parts, site: Site) -> nodes.Call | None:
    calls = (node for node in parts if isinstance(node, nodes.Call) and node.lineno == site.row)
    return next((call for call in calls if site_of(site.path, call) == site), None)


def _statement(module: Module, site: Site) -> nodes.NodeNG | None:
    """The innermost statement around a place; a condition carries nothing on, so there is none."""
    found = [
        node
        for node in module.tree.nodes_of_class((*BINDS, nodes.Return, nodes.Expr, nodes.For))
        if node.lineno <= site.row <= (node.end_lineno or node.lineno)
        if not isinstance(node, nodes.For) or holds(node.iter, site)
    ]
    return max(found, key=lambda node: (node.lineno, -(node.end_lineno or 0)), default=None)
