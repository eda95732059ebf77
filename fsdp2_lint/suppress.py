"""Comments that silence findings.

``# noqa`` and ``# noqa: FSDP601`` follow flake8. ``# fsdp2-lint: ignore[FSDP601] reason``
names one or several codes; alone on a line it covers the next statement. A comment covers
the whole logical line that it stands on, and a finding is silenced on any of its spans.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsdp2_lint.source import Sources

if TYPE_CHECKING:
    from fsdp2_lint.vocab.finding import Finding

_CODES = r"[A-Za-z]+[0-9]+(?:[,\s]+[A-Za-z]+[0-9]+)*"
# A colon that no code follows is a mistake, and a mistake must not silence everything.
_NOQA = re.compile(rf"#\s*noqa(?:\s*:\s*(?P<codes>{_CODES})|(?!\w|\s*:))", re.IGNORECASE)
_IGNORE = re.compile(rf"#\s*fsdp2-lint:\s*ignore\[\s*(?P<codes>{_CODES})[,\s]*\]")
_OUTSIDE_STATEMENTS = frozenset(
    {tokenize.ENCODING, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.COMMENT}
)


@dataclass(frozen=True, slots=True)
class Suppression:
    """Rows ``first`` to ``last`` are silent for ``codes``; None means for all."""

    first: int
    last: int
    codes: frozenset[str] | None

    def silences(self, code: str, row: int) -> bool:
        return self.first <= row <= self.last and (self.codes is None or code in self.codes)


def suppressions(data: bytes) -> list[Suppression]:
    """The suppressions in one file, as far as it can be divided into tokens."""
    if b"fsdp2-lint" not in data and b"noqa" not in data.lower():
        return []
    found: list[Suppression] = []
    inside: list[frozenset[str] | None] = []  # comments on the statement that is being read
    ahead: list[frozenset[str]] = []  # own-line comments that wait for the next statement
    first = row = 0
    try:
        # Python counts rows the same way whatever ends a line; tokenize does not.
        lines = io.BytesIO(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
        for token in tokenize.tokenize(lines.readline):
            row = token.start[0]
            if token.type == tokenize.COMMENT:
                if first or token.line[: token.start[1]].strip():
                    inside.extend(_codes(token.string, _NOQA, _IGNORE))
                else:
                    ahead.extend(codes for codes in _codes(token.string, _IGNORE) if codes)
            elif token.type == tokenize.NEWLINE:
                found.extend(Suppression(first, row, codes) for codes in (*ahead, *inside))
                inside, ahead, first = [], [], 0
            elif token.type not in _OUTSIDE_STATEMENTS and not first:
                first = row
    except (tokenize.TokenError, SyntaxError):
        pass  # the parser reports the file; what was read so far still counts
    found.extend(Suppression(first or row, row, codes) for codes in inside)
    return found


def _codes(comment: str, *patterns: re.Pattern[str]) -> Iterable[frozenset[str] | None]:
    for pattern in patterns:
        for match in pattern.finditer(comment):
            listed = match["codes"]
            yield frozenset(re.split(r"[,\s]+", listed.upper())) if listed else None


def partition(findings: Iterable[Finding], sources: Sources) -> tuple[list[Finding], list[Finding]]:
    """Findings to be shown, and findings that a comment silences."""
    cache: dict[str, list[Suppression]] = {}
    shown: list[Finding] = []
    silenced: list[Finding] = []
    for finding in findings:
        silent = False
        for site in finding.sites:
            if site.path not in cache:
                cache[site.path] = suppressions(sources.data(site.path))
            silent = silent or any(each.silences(finding.code, site.row) for each in cache[site.path])
        (silenced if silent else shown).append(finding)
    return shown, silenced
