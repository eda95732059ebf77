"""Notebooks as one program: the code cells in order, and its places as places in cells.

Nothing of Jupyter is needed: a notebook is JSON (nbformat 4, https://nbformat.readthedocs.io).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fsdp2_lint.errors import Refusal
from fsdp2_lint.files.reading import FILE_BYTES, NOTEBOOK_CELLS

if TYPE_CHECKING:
    from fsdp2_lint.vocab.finding import Site

SUFFIX = ".ipynb"
# What IPython takes for itself: magics, commands of the shell, help. Of cell magics these run their cell as Python.
_PLAIN_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun")
_MAGIC = re.compile(r"^(\s*)(%%?[A-Za-z]|!|\?|[\w.]+\?\??\s*$)")
# Magics of which people leave out the sign: ``cd ..``, ``pip install torch``.
_AUTOMATIC = re.compile(
    r"^(?:cd|ls|cat|cp|mv|rm|mkdir|rmdir|pip|conda)[ \t]+(?![=(\[,:]|[!<>]=|(?:in|is|if|and|or|not)\b)"
)
_TOKEN = re.compile(r'(?P<text>"[^"\\]*(?:\\.[^"\\]*)*")(?P<key>\s*:)?|[][{},]', re.DOTALL)
_ASSIGNED = re.compile(r"^(\s*[\w.,][\w.,\s]*=\s*)[%!].*$")


@dataclass(frozen=True, slots=True)
class Notebook:
    """``source`` is the program; ``first_rows`` and ``cells`` say with which row each code cell begins.

    Cells are counted from 1 over all cells, as their reader counts them.
    """

    source: bytes
    first_rows: tuple[int, ...]
    cells: tuple[int, ...]

    def place(self, site: Site) -> Site:
        """A place of the program as one in its cell."""
        at = max(bisect_right(self.first_rows, site.row) - 1, 0)
        before = self.first_rows[at] - 1
        end_row = site.end_row - before if site.end_row else 0
        return replace(site, row=site.row - before, end_row=end_row, cell=self.cells[at])

    def row(self, site: Site) -> int:
        """The row of the program for a place in a cell."""
        return site.row + self.first_rows[self.cells.index(site.cell)] - 1


class NoNotebook(Refusal, ValueError):
    """The text says why."""


def read(data: bytes) -> Notebook | None:
    """None if its language is another one."""
    try:
        held: Any = json.loads(data)
    except ValueError as error:
        raise NoNotebook(f"is not a notebook: {error}") from None
    except RecursionError:
        raise NoNotebook("is nested too deeply to be a notebook") from None
    if not isinstance(held, dict) or not isinstance(held.get("cells"), list):
        raise NoNotebook("is not a notebook of format 4: it has no list of cells")
    if _language(held) != "python":
        return None
    if len(held["cells"]) > NOTEBOOK_CELLS:
        raise NoNotebook(f"has more than {NOTEBOOK_CELLS:,} cells and was not checked")
    lines: list[str] = []
    first_rows, cells = [], []
    for number, cell in enumerate(held["cells"], start=1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            first_rows.append(len(lines) + 1)
            cells.append(number)
            lines += _program(_text(cell.get("source", "")))
    source = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
    if len(source) > FILE_BYTES:
        raise NoNotebook(f"holds more than {FILE_BYTES // 1_000_000} MB of code and was not checked")
    return Notebook(source, tuple(first_rows) or (1,), tuple(cells) or (1,))


def rows_in_file(data: bytes) -> dict[int, list[int]]:
    """By cell, the row of the file in which each of its rows is written, from 1; nothing of what is no notebook.

    Jupyter writes each row on a line of its own. Where there are no line breaks, all are in row 1.
    """
    text = data.decode("utf-8", "replace")
    written: dict[int, list[tuple[int, str]]] = {}
    way: list[str | int] = []  # from the top to where we are: keys, and places in lists from 0
    row, end = 1, 0
    for token in _TOKEN.finditer(text):
        row += text.count("\n", end, token.start())
        end, sign = token.start(), token[0]
        if sign in "{[":
            way.append("" if sign == "{" else 0)
        elif not way:
            return {}
        elif sign in "}]":
            way.pop()
        elif sign == ",":
            way[-1] = way[-1] + 1 if isinstance(way[-1], int) else way[-1]
        elif token["key"]:
            way[-1] = json.loads(token["text"])
        elif way[0] == "cells" and way[2:3] == ["source"]:
            written.setdefault(int(way[1]) + 1, []).append((row, json.loads(token["text"])))
    return {cell: _rows(parts) for cell, parts in written.items()}


def _rows(parts: list[tuple[int, str]]) -> list[int]:
    """Where each row begins, of a text that is written in parts: a part may hold several rows, or some of one."""
    rows: list[int] = []
    begins = True
    for row, text in parts:
        *whole, rest = text.split("\n")
        rows += [row] * (len(whole) + bool(rest) - (not begins))
        begins = not rest
    return rows


def _language(held: dict[str, Any]) -> str:
    metadata = held.get("metadata")
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        part = metadata.get(key) if isinstance(metadata, dict) else None
        if isinstance(part, dict) and isinstance(part.get(name), str):
            return str(part[name]).lower()
    return "python"


def _text(source: Any) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def _program(text: str) -> list[str]:
    """The rows of a cell, as many as it has, with what is not Python made harmless."""
    lines = text.split("\n")
    if lines[0].startswith("%%") and not lines[0].startswith(_PLAIN_MAGICS):
        return ["#" for _ in lines]  # HTML, bash, or a file that is written
    made: list[str] = []
    goes_on = False  # a command of the shell, with a backslash at the end of its line
    for line in lines:
        program = "#" if goes_on else _line(line)
        goes_on = (goes_on or program != line.replace("\r", "")) and line.rstrip("\r").endswith("\\")
        made.append(program)
    return made


def _line(line: str) -> str:
    if assigned := _ASSIGNED.match(line):
        return f"{assigned[1]}get_ipython()"
    if magic := _MAGIC.match(line):
        return f"{magic[1]}pass"
    if _AUTOMATIC.match(line):
        return "pass"
    return line.replace("\r", "")
