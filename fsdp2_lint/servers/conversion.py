"""Findings in the words of the Language Server Protocol: places from 0, in the units that the editor counts in."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import SequenceMatcher

from lsprotocol import types
from pygls.workspace import PositionCodec

from fsdp2_lint.catalogue import pages
from fsdp2_lint.files.source import Sources, decode
from fsdp2_lint.findings import unused
from fsdp2_lint.vocab.finding import Finding, Severity, Site

SOURCE = "fsdp2-lint"
SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_MARKDOWN = re.compile(r"([\\`*_<>\[\]#])")


class Conversion:
    """``sources`` are the texts that were checked, ``uri`` is what the editor calls a file."""

    def __init__(self, sources: Sources, codec: PositionCodec, uri: Callable[[str], str]) -> None:
        self._sources = sources
        self._codec = codec
        self._uri = uri

    def diagnostic(self, finding: Finding) -> types.Diagnostic:
        """A finding as editors show it, with the other places of its story."""
        return types.Diagnostic(
            range=self.range(finding.primary.site),
            severity=SEVERITIES[finding.severity],
            code=finding.code,
            code_description=types.CodeDescription(finding.url),
            source=SOURCE,
            message=_in_cell(finding.primary.site) + finding.message,
            tags=[types.DiagnosticTag.Unnecessary] if finding.code == unused.CODE else None,
            related_information=[
                types.DiagnosticRelatedInformation(
                    types.Location(self._uri(label.site.path), self.range(label.site)),
                    _in_cell(label.site) + label.message,
                )
                for label in finding.related
            ],
        )

    def range(self, site: Site) -> types.Range:
        """A place without an end goes to the end of its line."""
        if site.cell:  # cells are no places in the file of a notebook
            return types.Range(types.Position(0, 0), types.Position(0, 0))
        start = self._position(site.path, site.row, site.column - 1)
        end = self._position(site.path, site.end_row or site.row, site.end_column - 1 if site.end_column else None)
        return types.Range(start, end)

    def edits(self, before: bytes, after: bytes) -> list[types.TextEdit]:
        """What turns one content of a file into the other, by whole lines."""
        old, new = _LINES.findall(decode(before)), _LINES.findall(decode(after))

        def at(index: int) -> types.Position:
            if index == len(old) and old and not old[-1].endswith(("\n", "\r")):
                return types.Position(index - 1, self._codec.client_num_units(old[-1]))
            return types.Position(index, 0)

        return [
            types.TextEdit(types.Range(at(start), at(end)), "".join(new[new_start:new_end]))
            for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new).get_opcodes()
            if tag != "equal"
        ]

    def _position(self, path: str, row: int, column: int | None) -> types.Position:
        line = self._sources.line(path, row) or ""
        return types.Position(row - 1, int(self._codec.client_num_units(line[:column])))


def described(finding: Finding) -> str:
    """A finding and the page of its rule, in Markdown, without the examples."""
    page = pages.page_of(finding.code).partition("\n## Examples\n")[0].strip()
    message, help = (_MARKDOWN.sub(r"\\\1", text) for text in (finding.message, finding.help))
    return f"**{message}**\n\nHelp: {help}\n\n---\n\n{page}\n"


def _in_cell(site: Site) -> str:
    return f"cell {site.cell}, row {site.row}: " if site.cell else ""
