"""One file of the checked program: read, parsed, and what it binds."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from astroid import nodes
from astroid.manager import AstroidManager
from astroid.rebuilder import TreeRebuilder

from ...files.newer import reading
from ...files.parsing import parsed
from ...files.reading import read as read_file
from ...files.reading import reason_of
from ..budget import BUDGET

_HUGE = re.compile(rb"0[xXoObB][0-9a-fA-F_]{600}")  # in decimal digits Python refuses as many itself
_BITS = 2_000  # the least limit that Python may be set to is 640 digits


class Unreadable(Exception):
    """A file that cannot be analysed; the text says why, for the user."""

    def __init__(
        self, path: str, reason: str, row: int = 1, column: int = 1, *, needs: tuple[int, int] | None = None
    ) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason, self.row, self.column = path, reason, row, column
        self.needs = needs  # the Python that can read it, where this one cannot


@dataclass(eq=False, slots=True)
class Module:
    """One parsed file."""

    name: str
    path: str
    tree: nodes.Module
    is_package: bool
    bindings: dict[str, list[nodes.NodeNG]] = field(default_factory=dict)
    stars: list[nodes.ImportFrom] = field(default_factory=list)
    mentions_torch: bool = True

    def top_level_class(self, name: str) -> nodes.ClassDef | None:
        return next((node for node in self.tree.body if isinstance(node, nodes.ClassDef) and node.name == name), None)

    def __repr__(self) -> str:
        return f"<module {self.path}>"


def read(path: str) -> bytes:
    try:
        return read_file(path, BUDGET.file_bytes)
    except (OSError, ValueError) as error:
        raise Unreadable(path, reason_of(error)) from error


def parse(path: str, data: bytes) -> ast.Module:
    """Parse as Python itself would, with its encoding rules; errors become :class:`Unreadable`."""
    try:
        tree: ast.Module = parsed(data, path)
    except SyntaxError as error:
        tree = _newer(path, data, error)
    except ValueError as error:  # null bytes, unknown encodings
        raise Unreadable(path, f"cannot be decoded: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise Unreadable(path, "is nested too deeply to be parsed") from error
    return _Numbers().visit(tree) if _HUGE.search(data) else tree


def _newer(path: str, data: bytes, error: SyntaxError) -> ast.Module:
    """Of a file that this Python cannot parse, what means the same and can be parsed."""
    found = reading(data)
    row, column = error.lineno or 1, error.offset or 1
    if found is None:
        raise Unreadable(path, f"syntax error: {error.msg}", row, column) from error
    if not found.same:
        raise Unreadable(path, "uses syntax of a newer Python", row, column, needs=found.python) from error
    tree: ast.Module = parsed(found.text, path)
    return tree


class _Numbers(ast.NodeTransformer):
    """A number that Python does not write in digits is one that nobody knows."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, int) and node.value.bit_length() > _BITS:
            return ast.copy_location(ast.Name("a number of thousands of digits", ast.Load()), node)
        return node


def rebuild(tree: ast.Module, name: str, path: str, is_package: bool) -> nodes.Module:
    """astroid's tree from the same ast: no transforms, no inference, no import of anything."""
    try:
        return TreeRebuilder(AstroidManager(), data=None).visit_module(tree, name, path, is_package)
    except RecursionError as error:
        raise Unreadable(path, "is nested too deeply to be checked") from error


def bind(module: Module, body: list[nodes.NodeNG]) -> None:
    """Which statements of a module's top level bind which names, also inside if/try/with."""
    for node in body:
        if isinstance(node, (nodes.FunctionDef, nodes.ClassDef)):
            module.bindings.setdefault(node.name, []).append(node)
        elif isinstance(node, nodes.ImportFrom) and node.names[0][0] == "*":
            module.stars.append(node)
        elif isinstance(node, (nodes.Import, nodes.ImportFrom)):
            for name, alias in node.names:
                bound = alias or (name.split(".")[0] if isinstance(node, nodes.Import) else name)
                module.bindings.setdefault(bound, []).append(node)
        elif isinstance(node, nodes.Assign):
            for target in node.targets:
                for name_node in target.nodes_of_class(nodes.AssignName):
                    module.bindings.setdefault(name_node.name, []).append(node)
        elif isinstance(node, (nodes.AnnAssign, nodes.AugAssign)) and isinstance(node.target, nodes.AssignName):
            module.bindings.setdefault(node.target.name, []).append(node)
        elif isinstance(node, (nodes.If, nodes.For, nodes.While)):
            bind(module, node.body)
            bind(module, node.orelse)
        elif isinstance(node, nodes.With):
            bind(module, node.body)
        elif isinstance(node, nodes.Try):
            for block in (node.body, node.orelse, node.finalbody, *(handler.body for handler in node.handlers)):
                bind(module, block)
