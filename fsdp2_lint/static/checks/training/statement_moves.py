"""Statements that came too early: where they can stand later, in the block that they are in."""

from __future__ import annotations

from collections.abc import Sequence

from astroid import nodes

from ....files.source import Sources
from ....vocab.declared import record
from ....vocab.finding import Edit, Fix, Site
from ...domain import events
from ...domain.events import AnyStep, Step
from ..shared import name_uses as mentions
from ..shared.name_uses import with_callees
from ..shared.program import Program
from ..shared.source_edits import inserted, statement_at

_PLAIN = (nodes.Expr, nodes.Assign, nodes.AnnAssign)
_AROUND = (*_PLAIN, nodes.For, nodes.While, nodes.If, nodes.With, nodes.Try)  # what may hold a call and then go on
# What leaves a block, or lets others look at anything meanwhile. An exception is no such thing: any call may raise one.
_LEAVES = (nodes.Return, nodes.Break, nodes.Continue, nodes.Yield, nodes.YieldFrom)


def moved_behind(program: Program, early: Step[events.Optimizer], late: Sequence[AnyStep]) -> Fix | None:
    """The statement that led to ``early`` behind the last of those that led to ``late``.

    It is a statement of the function in which all of them part. None where anything in between, or ``late`` itself, may
    need what it makes. What it needs may be made anew by ``late`` alone. A helper that it calls may do more than that
    one thing, so somebody has to look at it.
    """
    depth = _parting(early, late)
    if depth is None:
        return None
    site = early.when.chain[depth]
    statement = statement_at(program, site)
    if not isinstance(statement, _PLAIN) or not _inside(program, early, depth, statement):
        return None
    block = statement.parent.child_sequence(statement)
    sharding = [_of_block(statement_at(program, step.when.chain[depth]), block) for step in late]
    if None in sharding:
        return None
    start, last = block.index(statement), max(block.index(part) for part in sharding)
    between = block[start + 1 : last + 1]
    if min(block.index(part) for part in sharding) <= start or not _independent(program, statement, between, sharding):
        return None
    before = block[start - 1].end_lineno if start else 0
    return _Lines(site.path, program.project.data(site.path)).moved(statement, block[last], before)


def _parting(early: AnyStep, late: Sequence[AnyStep]) -> int | None:
    """How deep in the calls that led to them all part from ``early``; None if they do so at several places."""
    depths = set()
    for step in late:
        pairs = enumerate(zip(early.when.chain, step.when.chain))
        depths.add(next((depth for depth, (mine, other) in pairs if mine != other), None))
    return depths.pop() if len(depths) == 1 else None


def _of_block(statement: nodes.NodeNG | None, block: list[nodes.NodeNG]) -> nodes.NodeNG | None:
    """The statement of this very block that holds another one, or is it, and after which the program goes on."""
    while statement is not None and statement not in block:
        statement = statement.parent
    return statement if isinstance(statement, _AROUND) else None


def _inside(program: Program, created: Step[events.Optimizer], depth: int, statement: nodes.NodeNG) -> bool:
    """Are the parameters read by this statement? A list that was filled before it would hold the same once it moved."""
    rows = range(statement.lineno, statement.end_lineno + 1)
    chain = created.when.chain
    begun = 0
    for step in program.trace.steps[: created.index]:
        mine = step.when.chain
        at = mine[depth] if mine[:depth] == chain[:depth] and len(mine) > depth else None
        if at is None or at.path != chain[depth].path or at.row not in rows:
            begun = step.index + 1
    return all(held.read > begun for held in created.what.held)


def _independent(
    program: Program, statement: nodes.NodeNG, between: list[nodes.NodeNG], sharding: list[nodes.NodeNG]
) -> bool:
    """May these statements run before ``statement``, which stands before them?"""
    made = _made(program, statement)
    if made is None or any(map(_leaves, between)):
        return False
    first, rest = with_callees(program, [statement]), with_callees(program, between)
    everywhere = mentions.shared(first) | (made if isinstance(statement.scope(), nodes.Module) else set())
    if made & mentions.names(between) or everywhere & mentions.names(rest):
        return False
    if mentions.stored(first) & (mentions.attributes(rest) | mentions.stored(rest)):
        return False
    others = [part for part in between if part not in sharding]
    read = mentions.names([statement])
    if any(read & mentions.bound(part) for part in others) or any(read & _anew(part) for part in sharding):
        return False
    changing = with_callees(program, others)
    return not (
        mentions.stored(changing) & mentions.attributes(first) or mentions.shared(changing) & mentions.names(first)
    )


def _leaves(node: nodes.NodeNG) -> bool:
    inner = isinstance(node, (nodes.FunctionDef, nodes.ClassDef, nodes.Lambda))
    return isinstance(node, _LEAVES) or not inner and any(map(_leaves, node.get_children()))


def _made(program: Program, statement: nodes.NodeNG) -> set[str] | None:
    """The variables that it sets or changes, as far as its own words say; None if they do not."""
    if isinstance(statement, nodes.Expr):
        return _changed(program, statement.value)
    targets = statement.targets if isinstance(statement, nodes.Assign) else [statement.target]
    plain = len(targets) == 1 and (
        isinstance(targets[0], nodes.AssignName)
        or isinstance(targets[0], nodes.AssignAttr)
        and isinstance(targets[0].expr, nodes.Name)
    )
    return mentions.bound(statement) if plain else None


def _changed(program: Program, call: nodes.NodeNG) -> set[str] | None:
    """``build(model)`` of the project changes what its body says, ``optimizers.append(...)`` changes ``optimizers``."""
    if not isinstance(call, nodes.Call):
        return None
    func, name = call.func, mentions.said(call.func)
    if not mentions.callables(program).keys().isdisjoint({name, f"{name}()"}):
        return set()
    on_variable = isinstance(func, nodes.Attribute) and isinstance(func.expr, nodes.Name)
    return {func.expr.name} if on_variable else None


def _anew(sharding: nodes.NodeNG) -> set[str]:
    """What a statement that shards sets to something else: not ``model`` in ``model = shard(model)``."""
    kept = set()
    for assigned in sharding.nodes_of_class(nodes.Assign):
        if len(assigned.targets) == 1 and isinstance(assigned.targets[0], nodes.AssignName):
            kept |= {assigned.targets[0].name} & mentions.names([assigned.value])
    return mentions.bound(sharding) - kept


@record
class _Lines:
    """The text of one file. Columns count bytes of UTF-8, as in syntax trees."""

    path: str
    data: bytes

    def moved(self, statement: nodes.NodeNG, goal: nodes.NodeNG, before: int) -> Fix | None:
        """``statement``, with the comments right above it, behind ``goal``; ``before`` is the last row that is not its.

        None where either shares a line with another statement.
        """
        sources = Sources({self.path: self.data})

        def line(row: int) -> str:
            return sources.line(self.path, row) or ""

        def ends_line(node: nodes.NodeNG) -> bool:
            left = line(node.end_lineno).encode()[node.end_col_offset :].decode(errors="replace").strip()
            return not left or left.startswith("#")

        first, last, goal_row = statement.lineno, statement.end_lineno, goal.end_lineno
        margin = line(first)[: statement.col_offset]
        if margin.strip() or not ends_line(statement) or not ends_line(goal):
            return None
        while first - 1 > max(before, 2) and line(first - 1).startswith(f"{margin}#"):  # the coding is said above that
            first -= 1
        text = "".join(f"\n{line(row)}" for row in range(first, last + 1))
        end = len(line(goal_row).encode()) + 1
        here = Edit(Site(self.path, first, 1, last + 1, 1), "")
        return Fix((here, inserted(self.path, goal_row, end, text)), safe=False)
