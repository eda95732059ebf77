"""The expression of the source that a frame executes, and what its names stand for there. Nothing of it is run."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import CodeType, FrameType
from typing import Any

import torch
from torch import nn

from . import adapter

Span = tuple[int, int, int, int]  # rows from 1 and columns in bytes from 0, of the beginning and of the end
MISSING = object()
ITEMS = 10_000  # that are looked at in one container


@dataclass(frozen=True, slots=True)
class Source:
    """A file. Expressions by where they stand, the outermost where several stand at one place; what holds each node."""

    expressions: Mapping[Span, ast.expr]
    parents: Mapping[ast.AST, ast.AST]


@cache
def source(path: str) -> Source:
    """Empty where there is none, or none of Python."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return Source({}, {})
    found: dict[Span, ast.expr] = {}
    parents: dict[ast.AST, ast.AST] = {}
    for node in ast.walk(tree):
        parents.update((child, node) for child in ast.iter_child_nodes(node))
        if isinstance(node, ast.expr) and node.end_lineno is not None and node.end_col_offset is not None:
            found.setdefault((node.lineno, node.col_offset, node.end_lineno, node.end_col_offset), node)
    return Source(found, parents)


@cache
def executed(code: CodeType, offset: int) -> ast.expr | None:
    """The expression that the instruction at ``offset`` belongs to; None where Python or the source does not tell."""
    positions = list(code.co_positions()) if hasattr(code, "co_positions") else []
    if not 0 <= offset // 2 < len(positions):
        return None
    first, last, start, end = positions[offset // 2]
    if first is None or last is None or start is None or end is None:
        return None
    return source(code.co_filename).expressions.get((first, start, last, end))


def operands(frame: FrameType, offset: int) -> Iterator[Any]:
    """The values of all names, attributes and items in the expression, with those in containers; the inner ones last.

    ``model.parameters()`` counts as a container, since modules list their parameters without doing anything else.
    """
    node = executed(frame.f_code, offset)
    for each in ast.walk(node) if node is not None else ():
        if isinstance(each, ast.expr) and (value := value_of(frame, each)) is not MISSING:
            yield value
            yield from _held(value)


def _held(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        yield from value[:ITEMS]
    elif type(value) is dict:
        yield from list(value.values())[:ITEMS]


def value_of(frame: FrameType, node: ast.expr) -> Any:
    """What stands behind ``node``, or MISSING where something would have to be run to know it."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id, MISSING))
    if isinstance(node, ast.Attribute):
        return _attribute(value_of(frame, node.value), node.attr)
    if isinstance(node, ast.Subscript):
        return _item(value_of(frame, node.value), value_of(frame, node.slice))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "parameters":
        owner = value_of(frame, node.func.value)
        return list(owner.parameters()) if isinstance(owner, nn.Module) else MISSING
    return MISSING


def _attribute(owner: Any, name: str) -> Any:
    """As it is stored: properties and ``__getattr__`` of the job are not called."""
    if owner is MISSING:
        return MISSING
    if isinstance(owner, nn.Module):
        return _of_module(owner, name)
    if isinstance(owner, torch.Tensor) and name in ("grad", "data"):
        return getattr(owner, name)
    space = getattr(owner, "__dict__", None)
    return space.get(name, MISSING) if isinstance(space, dict) else MISSING


def _of_module(module: nn.Module, name: str) -> Any:
    for space in (vars(module), adapter.own_parameters(module), adapter.own_buffers(module), adapter.children(module)):
        if name in space:
            return space[name]
    inner = adapter.unwrapped(module)
    return _of_module(inner, name) if inner is not module else MISSING


def _item(owner: Any, key: Any) -> Any:
    if isinstance(owner, (nn.ModuleList, nn.Sequential)) and isinstance(key, int):
        owner = list(adapter.children(owner).values())
    elif isinstance(owner, (nn.ModuleDict, nn.ParameterDict)) and isinstance(key, str):
        return _of_module(owner, key)
    plain = isinstance(owner, (list, tuple)) and isinstance(key, int) or type(owner) is dict
    try:
        return owner[key] if plain else MISSING
    except (LookupError, TypeError):
        return MISSING
