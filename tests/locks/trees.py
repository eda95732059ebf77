"""Programs as syntax trees in which each node remembers the statement that it comes from, however it is moved."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from tests.locks.edits import Span, span
from tests.locks.programs import Program, Seen, name_of

Node = TypeVar("Node", bound=ast.AST)
Origin = tuple[str, int]
Place = tuple[str, int]
NOWHERE: frozenset[Origin] = frozenset()
"""What is put into a program and stands for nothing that was there, such as dead code."""


@dataclass
class Trees:
    """The files of a program, to be changed in place."""

    program: Program
    files: dict[str, ast.Module]

    def rewritten(self, name: str) -> Program:
        texts = {file: f"{ast.unparse(ast.fix_missing_locations(tree))}\n" for file, tree in self.files.items()}
        others = {file: text for file, text in self.program.files.items() if not file.endswith(".py")}
        return self.program.with_files({**others, **texts}, f" {name}")


def trees(program: Program) -> Trees:
    """EmptiedModel trees: each statement is its own origin, named by its file and row."""
    found = {file: ast.parse(text) for file, text in program.files.items() if file.endswith(".py")}
    for file, tree in found.items():
        for statement in statements(tree):
            statement.origins = frozenset({(file, statement.lineno)})  # type: ignore[attr-defined]
    return Trees(program, found)


def origins(node: ast.AST) -> frozenset[Origin]:
    return getattr(node, "origins", NOWHERE)


def made(node: Node, *of: ast.AST) -> Node:
    """A new statement, and those inside it that are new too, that stands for others."""
    meant = frozenset().union(*map(origins, of))
    for each in ast.walk(node):
        if isinstance(each, ast.stmt) and not hasattr(each, "origins"):
            each.origins = meant  # type: ignore[attr-defined]
    return node


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.stmt))


def places(seen: Seen, program: Program, meant: dict[Place, frozenset[Origin]]) -> list[tuple[str, frozenset[Origin]]]:
    """(code, origins) of the primary place of each finding, through the table of :func:`where`."""
    return [(code, meant[innermost(program.files[file], file, row)]) for code, file, row in sorted(seen.places)]


def where(given: Trees, rewritten: Program) -> dict[Place, frozenset[Origin]]:
    """For each statement of the new texts, by file and row, what it stands for: the trees are walked side by side."""
    found: dict[Place, frozenset[Origin]] = {}
    for file, tree in given.files.items():
        for old, new in zip(statements(tree), statements(ast.parse(rewritten.files[file])), strict=True):
            assert type(old) is type(new), "what is written and read again is the same tree"
            found[file, new.lineno] = found.get((file, new.lineno), NOWHERE) | origins(old)
    return found


def innermost(text: str, file: str, row: int) -> Place:
    """The statement that holds a row, by its own first row; decorators belong to what they decorate."""
    around = [each for each in statements(ast.parse(text)) if _holds(span(text, each), row)]
    return file, max(each.lineno for each in around)


def _holds(at: Span, row: int) -> bool:
    return at.row <= row <= at.end_row


def own(seen: Seen, program: Program) -> list[tuple[str, Origin]]:
    """(code, statement) of each finding in the program as it was written."""
    return [(code, innermost(program.files[file], file, row)) for code, file, row in sorted(seen.places)]


def moved(before: Iterable[tuple[str, Origin]], now: Iterable[tuple[str, frozenset[Origin]]]) -> list[str]:
    """Where findings of before are not there now, and the other way round."""
    before, now = list(before), list(now)
    lost = [f"lost: {code} at {at}" for code, at in before if not any(code == c and at in meant for c, meant in now)]
    new = [
        f"new: {code} at {sorted(meant)}"
        for code, meant in now
        if not any(code == c and at in meant for c, at in before)
    ]
    return [*lost, *new]


__all__ = ["Origin", "Trees", "made", "moved", "name_of", "origins", "own", "places", "statements", "trees", "where"]
