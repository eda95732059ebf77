"""A file by its statements and calls, and edits that leave all other text as it is."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fsdp2_lint.vocab.finding import Site

Position = tuple[int, int]  # a row, from 1, and a column in bytes, from 0
LINES = 20  # a statement with more is not moved or guarded: it does more than the one thing


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """What lies between two positions becomes ``text``."""

    path: str
    start: Position
    end: Position
    text: str

    @property
    def longer(self) -> int:
        """By how many lines."""
        return self.text.count("\n") - (self.end[0] - self.start[0])


@dataclass(frozen=True, slots=True)
class Rows:
    """Lines of a file, the last one included."""

    path: str
    first: int
    last: int

    def meet(self, site: Site) -> bool:
        """Does what stands there reach into these lines?"""
        return site.path == self.path and site.row <= self.last and max(site.row, site.end_row) >= self.first


class Text:
    """One file. SyntaxError if this Python cannot read it."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path, self.lines = path, data.split(b"\n")
        tree = ast.parse(data)
        self._above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self._calls = {_span(node): node for node in ast.walk(tree) if isinstance(node, ast.Call)}

    def call(self, site: Site) -> ast.Call | None:
        """The call that an event is told to come from."""
        return self._calls.get((site.row, site.column - 1, site.end_row, site.end_column - 1))

    def words(self, node: ast.expr) -> str:
        """As it is written; where it takes several lines, as Python would write it."""
        if node.end_lineno != node.lineno:
            return ast.unparse(node)
        return self.lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The node and all that it lies in, innermost first."""
        at: ast.AST | None = node
        while at is not None:
            yield at
            at = self._above.get(at)

    def statements(self, site: Site) -> list[ast.stmt]:
        """Those around a call, within its function; innermost first. None of them: the call is no plain call."""
        call, found = self.call(site), []
        for node in self.around(call) if call is not None else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                break
            if isinstance(node, ast.stmt):
                found.append(node)
        return found

    def statement(self, site: Site) -> ast.stmt | None:
        """The innermost one around a call, if it has lines of its own."""
        found = self.statements(site)
        return found[0] if found and self.alone(found[0]) else None

    def block(self, statement: ast.stmt) -> Sequence[ast.stmt]:
        """Those that it stands among."""
        fields = (value for _, value in ast.iter_fields(self._above[statement]) if isinstance(value, list))
        return next(field for field in fields if statement in field)

    def alone(self, statement: ast.stmt) -> bool:
        """Does nothing else stand on its lines?"""
        first, last = rows(statement)
        left, right = self.lines[first - 1][: statement.col_offset], self.lines[last - 1][statement.end_col_offset :]
        return not left.strip() and (not right.strip() or right.lstrip().startswith(b"#"))

    # -- edits -------------------------------------------------------------------------

    def replaced(self, node: ast.expr, text: str) -> Edit:
        start, end = (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0)
        return Edit(self.path, start, end, text)

    def appended(self, node: ast.expr, text: str) -> Edit:
        """Behind an expression."""
        end = (node.end_lineno or node.lineno, node.end_col_offset or 0)
        return Edit(self.path, end, end, text)

    def before(self, statement: ast.stmt, *lines: str) -> Edit:
        start = (rows(statement)[0], 0)
        return Edit(self.path, start, start, "".join(f"{self._margin(statement)}{line}\n" for line in lines))

    def after(self, statement: ast.stmt, *lines: str) -> Edit:
        row = rows(statement)[1]
        end = (row, len(self.lines[row - 1]))
        return Edit(self.path, end, end, "".join(f"\n{self._margin(statement)}{line}" for line in lines))

    def moved(self, statement: ast.stmt, before: ast.stmt) -> tuple[Edit, Edit]:
        """To another place of its block."""
        first, last = rows(statement)
        at = (rows(before)[0], 0)
        written = b"".join(line + b"\n" for line in self.lines[first - 1 : last]).decode()
        return Edit(self.path, at, at, written), Edit(self.path, (first, 0), (last + 1, 0), "")

    def blank(self, statement: ast.stmt) -> Edit:
        """Nothing in its place."""
        first, last = rows(statement)
        return Edit(self.path, (first, 0), (last, len(self.lines[last - 1])), f"{self._margin(statement)}pass")

    def guarded(self, statement: ast.stmt, condition: str) -> Edit:
        first, last = rows(statement)
        body = (b"    " + line if line.strip() else line for line in self.lines[first - 1 : last])
        text = f"{self._margin(statement)}if {condition}:\n" + b"\n".join(body).decode()
        return Edit(self.path, (first, 0), (last, len(self.lines[last - 1])), text)

    def _margin(self, statement: ast.stmt) -> str:
        return self.lines[statement.lineno - 1][: statement.col_offset].decode()


def _span(node: ast.expr) -> tuple[int, int, int | None, int | None]:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def rows(statement: ast.stmt) -> tuple[int, int]:
    """The first line, with decorators, and the last."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)]), statement.end_lineno or statement.lineno


def short(statement: ast.stmt) -> bool:
    first, last = rows(statement)
    return last - first < LINES


def changed(data: bytes, edits: Iterable[Edit]) -> bytes:
    """A file with its edits made. ValueError if they overlap, SyntaxError if it cannot be read any more."""
    lines = data.split(b"\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    end = len(data)
    for edit in sorted(edits, reverse=True):
        first, last = (min(starts[row - 1] + column, len(data)) for row, column in (edit.start, edit.end))
        if last > end:
            raise ValueError(f"{edit.path}:{edit.start[0]}: two edits of one text")
        data, end = data[:first] + edit.text.encode() + data[last:], first
    ast.parse(data)
    return data


def written(edits: Iterable[Edit]) -> list[Rows]:
    """The lines of the new texts that edits wrote."""
    found: list[Rows] = []
    grown: dict[str, int] = {}
    for edit in sorted(edits):
        text = edit.text.strip("\n")
        if text:
            first = edit.start[0] + grown.get(edit.path, 0) + edit.text.startswith("\n")
            found.append(Rows(edit.path, first, first + text.count("\n")))
        grown[edit.path] = grown.get(edit.path, 0) + edit.longer
    return found


def row_after(edits: Iterable[Edit], path: str, row: int) -> int:
    """Where a line stands that was at ``row``, and that no edit took away."""
    return row + sum(each.longer for each in edits if each.path == path and each.end <= (row, 0))
