"""FSDP1 in the syntax of a project: where its class is used, and whether the program knows FSDP2's too."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .project import Project, Unreadable

CLASS = "FullyShardedDataParallel"
# What a program asks for that can tell a module of FSDP2 from others.
_FSDP2_NAMES = frozenset({"FSDPModule", "unshard", "reshard", "set_requires_gradient_sync", "set_is_last_backward"})
_ASKING = frozenset({"isinstance", "issubclass", "hasattr", "getattr"})


def wraps_with_fsdp1(project: Project) -> bool:
    """Does any file call the class, or hand it on to something that may?"""
    trees = list(_trees(project, CLASS))
    names = {CLASS, *(alias for tree in trees for alias in _aliases(tree))}
    others = [tree for name in names - {CLASS} for tree in _trees(project, name)]
    return any(_is_used(tree, names) for tree in (*trees, *others))


def asks_for_fsdp2(project: Project) -> bool:
    """Does any file test for a module of FSDP2, by its class or by a method that only it has?"""
    return any(
        isinstance(node, ast.Call) and _name(node.func) in _ASKING and _FSDP2_NAMES & set(_mentioned(node))
        for word in _FSDP2_NAMES
        for tree in _trees(project, word)
        for node in ast.walk(tree)
    )


def _trees(project: Project, word: str) -> Iterator[ast.Module]:
    for path in project.files:
        try:
            data = project.data(path)
        except Unreadable:
            continue
        if word.encode() in data and (tree := project.ast(path)) is not None:
            yield tree


def _aliases(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.asname for alias in node.names if alias.name == CLASS and alias.asname)


def _is_used(tree: ast.Module, names: set[str]) -> bool:
    """As a value: not as the class of a test, the owner of a static method, or an annotation."""
    idle: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            idle.add(id(node.value))
        elif isinstance(node, ast.Call) and _name(node.func) in ("isinstance", "issubclass"):
            idle.update(id(part) for given in node.args[1:] for part in ast.walk(given))
        elif isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
            idle.update(id(part) for part in ast.walk(node.annotation))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
            idle.update(id(part) for part in ast.walk(node.returns))
    return any(
        isinstance(node, (ast.Name, ast.Attribute))
        and isinstance(node.ctx, ast.Load)
        and _name(node) in names
        and id(node) not in idle
        for node in ast.walk(tree)
    )


def _mentioned(call: ast.Call) -> Iterator[str]:
    """Names and texts in the arguments."""
    for part in (part for given in call.args for part in ast.walk(given)):
        yield part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else _name(part)


def _name(node: ast.AST) -> str:
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
