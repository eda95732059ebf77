"""Edits that findings bring, put into the text of files."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Sequence

from fsdp2_lint.files.source import decode
from fsdp2_lint.vocab.finding import Edit, Site

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")

Span = tuple[int, int]
"""Start and end in characters from the start of the file, the end exclusive."""


class Text:
    """One file's text, by the rows and columns of findings: from 1, in characters."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._bom = data.startswith(b"\xef\xbb\xbf")
        self.text = decode(data).removeprefix("\ufeff")
        self.encoding = _encoding(data)
        self._starts = [match.start() for match in _LINE.finditer(self.text)]

    @property
    def newline(self) -> str:
        """What ends a line of this file."""
        found = re.search(r"\r\n|\r|\n", self.text)
        return found[0] if found else "\n"

    def offset(self, row: int, column: int) -> int:
        """A place beyond the end of the text is its end."""
        if row > len(self._starts):
            return len(self.text)
        return min(self._starts[row - 1] + column - 1, len(self.text))

    def span(self, site: Site) -> Span:
        return self.offset(site.row, site.column), self.offset(site.end_row, site.end_column)

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """The file with all edits, which must not overlap. ValueError if its encoding cannot write it like this."""
        if self._bytes(self.text) != self._data:
            raise ValueError("the rest of the file would not stay as it is")  # some encodings write a text in many ways
        text = self.text
        for (start, end), new in sorted(((self.span(edit.site), edit.text) for edit in edits), reverse=True):
            text = text[:start] + new.replace("\n", self.newline) + text[end:]
        return self._bytes(text)

    def _bytes(self, text: str) -> bytes:
        data = text.encode(self.encoding)  # UnicodeEncodeError is a ValueError
        return b"\xef\xbb\xbf" + data if self._bom else data


def _encoding(data: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError:
        return "utf-8"
    return "utf-8" if encoding == "utf-8-sig" else encoding


def overlap(spans: Sequence[Span], taken: Iterable[Span]) -> bool:
    """Does any of the spans touch text that is taken? Two insertions at one place do, since their order is not said."""
    return any(
        other_start < end and start < other_end or start == other_start
        for start, end in spans
        for other_start, other_end in taken
    )
