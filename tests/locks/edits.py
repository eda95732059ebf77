"""Edits of source text that keep every other statement in its row, so that places and models can be compared."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Span:
    """A stretch of a text: rows from 1, columns from 0, as characters."""

    row: int
    column: int
    end_row: int
    end_column: int


def span(text: str, node: ast.expr | ast.stmt) -> Span:
    """Where a node stands; the decorators of a definition are part of it."""
    lines = text.split("\n")

    def characters(row: int, column: int) -> int:
        return len(lines[row - 1].encode()[:column].decode())  # ast counts bytes

    assert node.end_lineno is not None and node.end_col_offset is not None
    end = (node.end_lineno, characters(node.end_lineno, node.end_col_offset))
    if isinstance(node, Definition) and node.decorator_list:
        first = node.decorator_list[0]
        return Span(first.lineno, characters(first.lineno, first.col_offset) - 1, *end)
    return Span(node.lineno, characters(node.lineno, node.col_offset), *end)


def source(text: str, at: Span) -> str:
    """The text of a stretch."""
    lines = text.split("\n")[at.row - 1 : at.end_row]
    lines[-1] = lines[-1][: at.end_column]
    lines[0] = lines[0][at.column :]
    return "\n".join(lines)


def put(text: str, at: Span, new: str) -> str:
    """``new`` in place of a stretch. What takes fewer rows is followed by empty ones."""
    lines = text.split("\n")
    before, after = lines[at.row - 1][: at.column], lines[at.end_row - 1][at.end_column :]
    spare = at.end_row - at.row - new.count("\n")
    assert spare >= 0, "what is longer moves all that follows"
    return "\n".join([*lines[: at.row - 1], before + new + "\n" * spare + after, *lines[at.end_row :]])


def definitions(tree: ast.Module) -> list[Definition]:
    """Functions and classes of the top level that are bound once."""
    found = [node for node in tree.body if isinstance(node, Definition)]
    names = [node.name for node in found]
    return [node for node in found if names.count(node.name) == 1]


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    """All calls but those inside f-strings, whose places Python does not tell before 3.12."""
    if isinstance(tree, ast.JoinedStr):
        return
    if isinstance(tree, ast.Call):
        yield tree
    for child in ast.iter_child_nodes(tree):
        yield from calls(child)


def defined_names(files: Mapping[str, str]) -> set[str]:
    """Names of the functions and classes that a program defines, methods too."""
    trees = [ast.parse(text) for name, text in files.items() if name.endswith(".py")]
    return {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, Definition)}


def called(call: ast.Call) -> str:
    """The last name of what is called; "" where it has none."""
    return {ast.Name: "id", ast.Attribute: "attr"}.get(type(call.func), "") and (
        call.func.id if isinstance(call.func, ast.Name) else call.func.attr  # type: ignore[attr-defined]
    )


def module_of(file: str) -> str:
    """``pkg/model.py`` is ``pkg.model``; a package's file is the package."""
    path = PurePosixPath(file).with_suffix("")
    return ".".join(path.parent.parts if path.name == "__init__" else path.parts)


def imported(file: str, node: ast.ImportFrom) -> str:
    """The absolute name of the module that ``from ... import`` means, if names begin at the project's root."""
    if not node.level:
        return node.module or ""
    folder = PurePosixPath(file).parent.parts
    base = folder[: len(folder) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])
