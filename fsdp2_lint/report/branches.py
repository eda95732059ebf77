"""What stands around a line of the source: the conditions that lead to it, and the loops."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache

from ..files.reading import read
from ..vocab.finding import Site

_ASKS_FOR_RANK = re.compile(r"rank|main|master|primary|leader|zero|chief|coordinator", re.IGNORECASE)
_Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Level = tuple[ast.AST, list[ast.stmt], int]  # who owns a block of statements, the block, and which of them counts


def guard(site: Site, other: Site | None) -> str:
    """Does a condition decide who comes here? ``rank``, ``yes`` or empty.

    ``other`` is a place of the same function at which somebody is who was not let in.
    """
    found = ""
    for test in _conditions(site, other):
        if _ASKS_FOR_RANK.search(ast.unparse(test)):
            return "rank"
        found = "yes"
    return found


def loop(site: Site, other: Site | None) -> int:
    """The row of the innermost loop around a place of which ``other`` is outside; 0 if there is none."""
    for owner, block, _ in reversed(_levels(site)):
        if isinstance(owner, (ast.For, ast.AsyncFor, ast.While)) and block is owner.body:
            return 0 if other is not None and _holds(block, other) else owner.lineno
    return 0


def is_forward(site: Site) -> bool:
    """Does a place lie in the forward of a module?"""
    owner = next((owner for owner, _, _ in _levels(site)), None)
    return isinstance(owner, ast.FunctionDef) and owner.name == "forward"


def _conditions(site: Site, other: Site | None) -> Iterator[ast.expr]:
    for owner, block, position in _levels(site):
        together = other is not None and _holds(block, other)
        if isinstance(owner, ast.If) and not together and "__name__" not in ast.unparse(owner.test):
            yield owner.test
        for earlier in block[:position]:
            passed = together and other is not None and other.row > (earlier.end_lineno or earlier.lineno)
            if isinstance(earlier, ast.If) and not passed and any(map(_leaves, (earlier.body, earlier.orelse))):
                yield earlier.test


def _leaves(block: Sequence[ast.stmt]) -> bool:
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return ast.unparse(last.value.func) in ("exit", "quit", "sys.exit", "os._exit")
    return isinstance(last, (ast.Return, ast.Continue, ast.Break, ast.Raise))


def _holds(block: Sequence[ast.stmt], site: Site) -> bool:
    last = block[-1]
    return block[0].lineno <= site.row <= (last.end_lineno or last.lineno)


def _levels(site: Site) -> list[Level]:
    """The blocks of statements around a place, from that of its function inwards."""
    tree = _tree(site.path)
    levels: list[Level] = []
    owner: ast.AST | None = tree
    while owner is not None:
        owner = next(_inner(owner, site, levels), None)
    return levels


def _inner(owner: ast.AST, site: Site, levels: list[Level]) -> Iterator[ast.AST]:
    for block in _blocks(owner):
        for position, statement in enumerate(block):
            if _holds([statement], site):
                if isinstance(owner, _Scope):
                    levels.clear()  # a function is entered by a call, whatever stands around its definition
                levels.append((owner, block, position))
                yield statement


def _blocks(owner: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(owner, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block
    for each in (*getattr(owner, "handlers", ()), *getattr(owner, "cases", ())):
        yield each.body


@cache
def _tree(path: str) -> ast.Module | None:
    try:
        return ast.parse(read(path))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
