"""Names of a piece of code: what it reads and binds, as far as moving it about needs that."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
_LEAVES = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal)
_SCOPES = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def read(*nodes: ast.AST) -> set[str]:
    """Names that are read; those that only a comprehension, a lambda or an inner function binds are left out."""
    return {name for node in nodes for name in _read(node)}


def _read(node: ast.AST) -> set[str]:
    inner = {name for child in ast.iter_child_nodes(node) for name in _read(child)}
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return {node.id}
    if isinstance(node, _SCOPES):
        return inner - {name for each in node.generators for name in bound(each.target)}
    if isinstance(node, (*(ast.Lambda,), ast.FunctionDef, ast.AsyncFunctionDef)):
        return inner - parameters(node.args) - (set() if isinstance(node, ast.Lambda) else bound(*node.body))
    return inner


def bound(*nodes: ast.AST) -> set[str]:
    """Names that are bound in this scope: assigned, imported, defined."""
    return {name for node in nodes for name in _bound(node)}


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from (each.asname or each.name.split(".")[0] for each in node.names)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
        return
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name
    elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
        yield node.name
    elif isinstance(node, (ast.Lambda, *_SCOPES)):
        return
    for child in ast.iter_child_nodes(node):
        yield from _bound(child)


def parameters(arguments: ast.arguments) -> set[str]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return {each.arg for each in every if each is not None}


def local(function: Function) -> set[str]:
    return parameters(function.args) | bound(*function.body)


def names(tree: ast.AST) -> set[str]:
    """All words that stand for something in a text: a new name must not be one of them."""
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return found | {each for node in ast.walk(tree) for each in _bound(node)} | set(dir(builtins))


def leaves(*nodes: ast.AST) -> bool:
    """Does this code leave the piece that it stands in, or change another scope?"""
    return any(isinstance(each, _LEAVES) or _is_super(each) for node in nodes for each in ast.walk(node))


def _is_super(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("super", "__class__", "locals", "globals", "vars", "eval", "exec")


def fresh(wanted: str, taken: Iterable[str]) -> str:
    """A name that is not taken yet."""
    taken = set(taken)
    return next(name for name in [wanted, *(f"{wanted}_{n}" for n in range(2, 999))] if name not in taken)
