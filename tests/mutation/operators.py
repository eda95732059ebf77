"""Plants one fault in a correct program: whole-statement edits that are given by line numbers only."""

import ast
from collections.abc import Mapping
from typing import Any

RANK_ZERO = 'int(__import__("os").environ["RANK"]) == 0'
WHOLE_STATEMENTS = {"move_before", "delete", "rank_guard"}


def plant(files: Mapping[str, str], recipe: Mapping[str, Any]) -> dict[str, str]:
    """The files that the recipe changes, with their new text."""
    path, operator = recipe["file"], recipe["operator"]
    lines = files[path].split("\n")
    start, end = _span(recipe)
    if not 1 <= start <= end <= len(lines):
        raise ValueError(f"{path}:{start}: no such lines")
    if operator in WHOLE_STATEMENTS and not _whole(ast.parse(files[path]), start, end):
        raise ValueError(f"{path}:{start}-{end}: not whole statements of one block")
    text = "\n".join(_edit(lines, recipe))
    if text == files[path]:
        raise ValueError(f"{path}:{start}: nothing changed")
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise ValueError(f"{path}:{error.lineno}: the mutated file does not parse: {error.msg}") from error
    return {path: text}


def map_line(recipe: Mapping[str, Any], file: str, original_line: int) -> set[int]:
    """The lines where the statement of an original line stands after planting; an anchor also maps to its insert."""
    line, (start, end) = original_line, _span(recipe)
    if file != recipe["file"]:
        return {line}
    size, inside = end - start + 1, start <= line <= end
    match recipe["operator"]:
        case "move_before":
            return {_moved(line, start, end, recipe["to"])}
        case "delete" | "replace_line":
            return {start} if inside else {line - size + 1 if line > end else line}
        case "rank_guard":
            first = {start} if line == start else set()
            return first | {line + 1 if line >= start else line}
        case "insert_before":
            first = {start} if inside else set()
            return first | {line + 1 if line >= start else line}
        case "insert_after":
            first = {end + 1} if inside else set()
            return first | {line + 1 if line > end else line}
    return {line}


def _span(recipe: Mapping[str, Any]) -> tuple[int, int]:
    return recipe["line"], recipe.get("end_line", recipe["line"])


def _edit(lines: list[str], recipe: Mapping[str, Any]) -> list[str]:
    start, end = _span(recipe)
    before, block, after = lines[: start - 1], lines[start - 1 : end], lines[end:]
    margin = _indent(block[0])
    match recipe["operator"]:
        case "move_before":
            return _move(lines, start, end, recipe["to"])
        case "delete":
            return [*before, f"{margin}pass", *after]
        case "rank_guard":
            guard = f"{margin}if {recipe.get('expr', RANK_ZERO)}:"
            return [*before, guard, *(f"    {line}" if line.strip() else line for line in block), *after]
        case "insert_before":
            return [*before, margin + _one_line(recipe["expr"]), *block, *after]
        case "insert_after":
            return [*before, *block, margin + _one_line(recipe["expr"]), *after]
        case "replace_line":
            return [*before, margin + _one_line(recipe["expr"]), *after]
        case "replace_text":
            if recipe["old"] not in block[0]:
                raise ValueError(f"{recipe['file']}:{start}: no {recipe['old']!r} there")
            return [*before, block[0].replace(recipe["old"], recipe["new"], 1), *lines[start:]]
        case "call_forward":
            return [*before, _call_forward(lines, start, recipe["expr"]), *lines[start:]]
    raise ValueError(f"unknown operator {recipe['operator']!r}")


def _whole(node: ast.AST, start: int, end: int) -> bool:
    """Whether the lines are consecutive statements of one block, decorators included."""
    for _, field in ast.iter_fields(node):
        items = field if isinstance(field, list) else [field]
        statements = [item for item in items if isinstance(item, ast.stmt)]
        if start in map(_first_line, statements) and end in (statement.end_lineno for statement in statements):
            return True
        if any(_whole(item, start, end) for item in items if isinstance(item, ast.AST)):
            return True
    return False


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _move(lines: list[str], start: int, end: int, to: int) -> list[str]:
    if start <= to <= end + 1:
        raise ValueError(f"lines {start}-{end} cannot move before line {to}")
    block, old, new = lines[start - 1 : end], _indent(lines[start - 1]), _indent(lines[to - 1])
    moved = [new + line.removeprefix(old) if line.strip() else line for line in block]
    if to < start:
        return [*lines[: to - 1], *moved, *lines[to - 1 : start - 1], *lines[end:]]
    return [*lines[: start - 1], *lines[end : to - 1], *moved, *lines[to - 1 :]]


def _moved(line: int, start: int, end: int, to: int) -> int:
    size = end - start + 1
    target = to if to < start else to - size
    if start <= line <= end:
        return target + line - start
    if to <= line < start:
        return line + size
    return line - size if end < line < to else line


def _call_forward(lines: list[str], line: int, callee: str) -> str:
    text = "\n".join(lines)
    calls = [node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    ends = [
        func.end_col_offset or 0
        for func in calls
        if func.end_lineno == line and ast.get_source_segment(text, func) == callee
    ]
    if not ends:
        raise ValueError(f"line {line}: no call of {callee}")
    raw = lines[line - 1].encode()
    return (raw[: min(ends)] + b".forward" + raw[min(ends) :]).decode()


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _one_line(statement: str) -> str:
    if "\n" in statement:
        raise ValueError("the inserted statement must be one line")
    return statement
