"""Edits that hide a part of a program and mend nothing, made of any program by its syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

Files = Mapping[str, str]
MISSING = "a_package_that_is_not_there"


@dataclass(frozen=True)
class Hidden:
    """The files after the edit; what it was, in words; and settings that came with it."""

    how: str
    files: dict[str, str]
    settings: str = ""
    calls: tuple[str, ...] = field(default=())


def by_eval(files: Files, entry: str) -> Iterator[Hidden]:
    """Each call of the project's own functions and classes in the entry file, one at a time."""
    for call in _own_calls(files, entry):
        text = f"eval({ast.unparse(call)!r})"
        yield Hidden(f"eval: {text}", {**files, entry: _replaced(files[entry], call, text)})


def by_a_computed_name(files: Files, entry: str) -> Iterator[Hidden]:
    """``vars(sys.modules[...])["prepare"](...)``."""
    for call in _own_calls(files, entry):
        assert isinstance(call.func, ast.Name)
        text = f'vars(__import__("sys").modules[__name__])["{call.func.id}"]'
        yield Hidden(f"computed name: {text}", {**files, entry: _replaced(files[entry], call.func, text)})


def by_another_package(files: Files, entry: str) -> Iterator[Hidden]:
    """Each other file, and each top-level function or class of any, comes from a package that is not there."""
    for name in files:
        module = PurePath(name).stem
        if name != entry:
            rest = {other: _imported_elsewhere(text, module) for other, text in files.items() if other != name}
            yield Hidden(f"{name} is in another package", rest)
            yield Hidden(f"{name} is deleted", {other: text for other, text in files.items() if other != name})
        for node in ast.parse(files[name]).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name != "main":
                text = _replaced(files[name], node, f"from {MISSING} import {node.name}")
                yield Hidden(f"{node.name} of {name} is in another package", {**files, name: text})


def by_settings(files: Files) -> Iterator[Hidden]:
    for name in files:
        yield Hidden(f"{name} is excluded", {**files}, f'exclude = ["{name}"]\n')


def by_deletion(files: Files, entry: str, rows: Mapping[str, set[int]]) -> Iterator[Hidden]:
    """The main script goes; or the function or script around what was found becomes empty."""
    if len(files) > 1:
        yield Hidden("the main script is deleted", {name: text for name, text in files.items() if name != entry})
    yield Hidden("the main script is empty", {**files, entry: "import torch.distributed.fsdp\n"})
    for name, lines in rows.items():
        for node in ast.walk(ast.parse(files[name])):
            if isinstance(node, ast.FunctionDef) and any(node.lineno < row <= (node.end_lineno or 0) for row in lines):
                text = f"def {node.name}(*args, **kwargs):\n" + " " * node.col_offset + "    pass"
                yield Hidden(f"{node.name} of {name} is empty", {**files, name: _replaced(files[name], node, text)})


def _own_calls(files: Files, entry: str) -> list[ast.Call]:
    own = {
        node.name
        for text in files.values()
        for node in ast.parse(text).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
    calls = [node for node in ast.walk(ast.parse(files[entry])) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in own]


def _replaced(text: str, node: ast.expr | ast.stmt, new: str) -> str:
    lines = text.encode().splitlines(keepends=True)
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
    starts = [sum(map(len, lines[:row])) for row in range(len(lines) + 1)]
    start = starts[first - 1] + (node.col_offset if first == node.lineno else 0)
    end = starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
    data = b"".join(lines)
    return (data[:start] + new.encode() + data[end:]).decode()


def _imported_elsewhere(text: str, module: str) -> str:
    text = text.replace(f"from {module} import", f"from {MISSING}.{module} import")
    return text.replace(f"\nimport {module}\n", f"\nfrom {MISSING} import {module}\n")
