"""The functions of a file by their names, and which of them are empty: what an edit took away is told by this."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fsdp2_lint.files.parsing import parsed


def in_text(data: bytes) -> dict[str, ast.stmt]:
    """As :func:`in_tree`; none of what Python cannot parse. Nothing is executed."""
    try:
        return dict(in_tree(parsed(data)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}


def in_tree(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """``Trainer.fit`` and its definition, for all that are written with ``def``."""
    for node in ast.iter_child_nodes(tree):
        name = prefix
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{prefix}{node.name}."
            if not isinstance(node, ast.ClassDef):
                yield name[:-1], node
        yield from in_tree(node, name)


def empty(function: ast.stmt) -> bool:
    """Does its body do nothing: ``pass``, a text, ``return None``?"""
    return all(map(_idle, getattr(function, "body", [])))


def _idle(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.Expr, ast.Return)):
        return statement.value is None or isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Pass)
