"""Text of checked files, by row, for showing it and for reading its comments."""

from __future__ import annotations

import io
import os
import re
import tokenize
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from fsdp2_lint.files.notebooks import rows_in_file
from fsdp2_lint.files.reading import NOTEBOOK_BYTES, read

if TYPE_CHECKING:
    from fsdp2_lint.files.notebooks import Notebook
    from fsdp2_lint.vocab.finding import Site

_NEWLINE = re.compile(r"\r\n|\r|\n")


class Sources:
    """Files, read once. A file that cannot be read has no lines; that is reported elsewhere."""

    def __init__(
        self, overlay: Mapping[str, bytes] | None = None, notebooks: Mapping[str, Notebook] | None = None
    ) -> None:
        self._data: dict[str, bytes] = dict(overlay or {})
        self._notebooks = notebooks or {}
        self._lines: dict[str, list[str]] = {}
        self._written: dict[str, dict[int, list[int]]] = {}  # of notebooks, by cell

    def take(self, texts: Mapping[str, bytes]) -> None:
        """What others have read: a file that was changed since is still the one that they speak of."""
        self._data = {**texts, **self._data}

    def data(self, path: str) -> bytes:
        if path not in self._data:
            try:
                self._data[path] = read(path)
            except (OSError, ValueError):
                self._data[path] = b""
        return self._data[path]

    def line(self, path: str, row: int) -> str | None:
        """One line without its end, or None if the file has no such row."""
        lines = self._lines.get(path)
        if lines is None:
            # Rows as Python counts them: str.splitlines would also split at form feeds.
            lines = self._lines[path] = _NEWLINE.split(decode(self.data(path)))
        return lines[row - 1] if 0 < row <= len(lines) else None

    def at(self, site: Site) -> str | None:
        """The first line of a place as findings have it: in a notebook, of its cell."""
        return self.line(site.path, self._notebooks[site.path].row(site) if site.cell else site.row)

    def row_in_file(self, site: Site) -> int:
        """For services that know files and no cells: the row of the notebook's own text; 1 if that cannot be told."""
        if site.path not in self._written:
            try:
                self._written[site.path] = rows_in_file(read(site.path, NOTEBOOK_BYTES))
            except (OSError, ValueError, LookupError, TypeError):
                self._written[site.path] = {}
        rows = self._written[site.path].get(site.cell, [])
        return rows[site.row - 1] if 0 < site.row <= len(rows) else 1

    def in_cell(self, site: Site) -> Site:
        """A place of the program that a notebook makes up, as one in its cell."""
        notebook = self._notebooks.get(site.path)
        return notebook.place(site) if notebook is not None else site

    def in_characters(self, site: Site) -> Site:
        """A place as syntax trees give it, in bytes of UTF-8, as editors count: in characters."""
        column = self._characters(site.path, site.row, site.column)
        end_column = self._characters(site.path, site.end_row, site.end_column)
        return replace(site, column=column, end_column=end_column)

    def shown(self, site: Site) -> Site:
        """A place of a syntax tree as people read it."""
        return self.in_cell(self.in_characters(site))

    def _characters(self, path: str, row: int, column: int) -> int:
        line = self.line(path, row)
        if line is None or line.isascii() or column < 1:
            return column
        return len(line.encode("utf-8", "replace")[: column - 1].decode("utf-8", "replace")) + 1


def decode(data: bytes) -> str:
    """The text, by Python's own rules for encodings; what cannot be decoded is replaced."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding, errors="replace")
    except (SyntaxError, LookupError, ValueError):  # of those that Python knows some are no encodings of a text
        return data.decode("utf-8", errors="replace")


def display_path(path: str) -> str:
    """A path as people read it: relative to where they stand, if it lies below."""
    here = os.path.realpath(os.curdir)
    if path.startswith(here.rstrip(os.sep) + os.sep):
        return path[len(here.rstrip(os.sep)) + 1 :]
    return path


def display_text(text: str) -> str:
    """A sentence with the paths in it as people read them."""
    return text.replace(os.path.realpath(os.curdir).rstrip(os.sep) + os.sep, "")


def line_of(site: Site) -> str:
    """``path:row`` as people read it; in a notebook ``path:cell 3:row``."""
    cell = f"cell {site.cell}:" if site.cell else ""
    return f"{display_path(site.path)}:{cell}{site.row}"


def place(site: Site) -> str:
    """The same with the column."""
    return f"{line_of(site)}:{site.column}"
