"""Comments that silence findings.

``# noqa`` and ``# noqa: FSDP601`` follow flake8, and a code of ours without a colon silences nothing.
``# fsdp2-lint: ignore[FSDP601] reason`` names one or several codes, or names of rules; alone on a line it covers the
next statement.
A comment covers the whole logical line that it stands on, and a finding is silenced on any of its spans.
``# fsdp2-lint: ignore-file[FSDP601] reason`` covers the findings whose first place is in the file.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from fsdp2_lint.catalogue.codes import PREFIX, as_name, canonical, named
from fsdp2_lint.errors import likeness
from fsdp2_lint.files.source import Sources
from fsdp2_lint.files.syntax import readable

if TYPE_CHECKING:
    from fsdp2_lint.vocab.finding import Finding, Site

_CODE = r"(?:(?i:fsdp)[0-9]\w*|[A-Za-z]+[0-9]+)"  # a slip such as FSDP6O1 is one word, and told as a whole
_NAME = "[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)+"
_WORD = f"(?:{_CODE}|{_NAME})"
_WORDS = rf"{_WORD}(?:[,\s]+{_WORD})*"
# Up to the next comment on the line. A reason may speak of an issue (#12) or of a part of a page (https://a/b#c).
_REASON = r"(?:://\S+|#\s?[0-9]|[^#])*"
_OWN = r"#\s*fsdp2-lint:\s*{}\[\s*(?P<codes>" + _WORDS + r")[,\s]*\]"
_IGNORE = re.compile(_OWN.format("ignore") + _REASON)
_IGNORE_FILE = re.compile(_OWN.format("ignore-file") + _REASON)
_RIGHT = _OWN.format("ignore(?:-file)?").replace("?P<codes>", "?:")
_NAME_OF_THE_TOOL = "(?i:fsdp2?[-_ ]?lint)"
# What speaks to the tool, and not of it.
_SPEAKS = r"(?:[:;]|(?=(?:ignore|ignore-file|disable|noqa)(?:\s*[\[=(:]|\s+(?i:fsdp)[0-9])))"
_BEGIN = r"(?:^|(?<=\s))"
_MALFORMED = re.compile(rf"{_BEGIN}(?!{_RIGHT})#\s*{_NAME_OF_THE_TOOL}\s*{_SPEAKS}(?P<codes>){_REASON}")
_TO_ANOTHER_TOOL = re.compile(rf"{_BEGIN}#\s*(?i:ruff|flake8)\s*:\s*(?i:noqa)\s*:\s*(?i:fsdp)[0-9](?P<codes>){_REASON}")
# What may be meant for a code or a name of this tool, and is none. Other tools have codes of their own.
_NOQA_FOR_NOTHING = re.compile(
    rf"{_BEGIN}#\s*(?i:noqa)\s*:\s*(?P<word>(?i:fsdp)(?![0-9])[\w-]*|{_NAME})(?P<codes>){_REASON}"
)
_ALIKE = 0.8  # naive-torch-sav is a slip
OUTSIDE_STATEMENTS = frozenset(
    {tokenize.ENCODING, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.COMMENT}
)


@dataclass(frozen=True, slots=True)
class Comment:
    """Where a suppression is written. Rows and columns count from 1, in characters; ends are exclusive."""

    row: int
    column: int
    end_column: int
    codes: frozenset[str] | None  # None: all
    codes_column: int = 0
    codes_end_column: int = 0
    alone: bool = False  # nothing else is on the line
    own: bool = False  # it speaks to this tool and to no other


@dataclass(frozen=True, slots=True)
class Suppression:
    """Rows ``first`` to ``last`` are silent for the codes of ``comment``; ``last`` 0 means the whole file."""

    first: int
    last: int
    comment: Comment

    @property
    def codes(self) -> frozenset[str] | None:
        return self.comment.codes

    def silences(self, code: str, row: int, *, primary: bool = True) -> bool:
        """``primary``: is the row that of a finding's first place? For others the file's own wishes do not count."""
        covers = self.first <= row <= self.last if self.last else primary
        return covers and (self.codes is None or code in self.codes)


def suppressions(data: bytes) -> list[Suppression]:
    """The suppressions in one file, as far as it can be divided into tokens."""
    if b"fsdp2-lint" not in data and b"noqa" not in data.lower():
        return []
    found: list[Suppression] = []
    inside: list[Comment] = []  # comments on the statement that is being read
    ahead: list[Comment] = []  # own-line comments that wait for the next statement
    first = row = 0
    for token in tokens(data):
        row = token.start[0]
        if token.type == tokenize.COMMENT:
            found.extend(Suppression(1, 0, comment) for comment in _comments(token, _IGNORE_FILE))
            if first or token.line[: token.start[1]].strip():
                inside.extend(_comments(token, _noqa(), _IGNORE))
            else:
                ahead.extend(_comments(token, _IGNORE))
        elif token.type == tokenize.NEWLINE:
            found.extend(Suppression(first, row, comment) for comment in (*ahead, *inside))
            inside, ahead, first = [], [], 0
        elif token.type not in OUTSIDE_STATEMENTS and not first:
            first = row
    found.extend(Suppression(first or row, row, comment) for comment in inside)
    return found


def malformed(data: bytes) -> Iterator[Comment]:
    """Comments that speak to this tool and silence nothing. Only those that name codes behind no colon have codes."""
    lower = data.lower()
    if b"fsdp" not in lower and b"noqa" not in lower:
        return
    for token in tokens(data):
        if token.type == tokenize.COMMENT:
            yield from _comments(token, _MALFORMED, _TO_ANOTHER_TOOL, _without_colon())
            if (found := _NOQA_FOR_NOTHING.search(token.string)) and is_slip(found["word"]):
                yield from _comments(token, _NOQA_FOR_NOTHING)


def words_in(listed: str) -> list[str]:
    """The codes and names of a list, as they are written."""
    return re.findall(r"\w[\w-]*", listed)


def is_slip(word: str) -> bool:
    """Is it meant for this tool, though it has no such code and no such name?"""
    if word.upper().startswith(PREFIX):
        return True
    return canonical(word) is None and max(likeness(as_name(word), name) for name in named()) >= _ALIKE


def meant(word: str) -> str:
    """The code for which a word of a comment stands, though there may be no such code."""
    return canonical(word) or (as_name(word) if re.search("[-_]", word) else word.upper())


@cache
def _noqa() -> re.Pattern[str]:
    """Of names only those that exist count, but for one behind a comma: the words behind the codes are a reason.

    A colon that no code follows is a mistake, as is a code without a colon, and a mistake must not silence everything.
    """
    listed = rf"\s*:\s*(?P<codes>{_word()}(?:[,\s]+{_word()}|\s*,\s*{_NAME})*)"
    return re.compile(rf"#\s*noqa(?:{listed}|(?!\w|\s*:|{_ours_apart()})){_REASON}", re.IGNORECASE)


@cache
def _without_colon() -> re.Pattern[str]:
    """``# noqa FSDP601`` and ``# noqa[FSDP601]``. Other words behind ``noqa``, also FSDP2, are a reason."""
    listed = rf"(?P<codes>{_ours_apart()}(?:[,\s]+{_word()})*[\])]?)"
    return re.compile(rf"{_BEGIN}#\s*noqa{listed}{_REASON}", re.IGNORECASE)


def _ours_apart() -> str:
    """What follows ``noqa`` and names a code of ours, perhaps behind others, but none right behind a colon."""
    ours = rf"(?:{_names()}|fsdp[0-9]\w{{2,}}(?![\w-]))"
    return rf"(?!\s*:\s*{_word()})[^\w#]+(?:{_word()}[,\s]+)*?{ours}"


def _word() -> str:
    return rf"(?:{_names()}|{_CODE})"


def _names() -> str:
    names = "|".join(named()).replace("-", "[-_]")
    return rf"(?:{names})(?![\w-])"


def tokens(data: bytes) -> Iterator[tokenize.TokenInfo]:
    """As many as there are: the parser reports a file that is no Python, and what was read before still counts."""
    if b"\0" in data:
        return  # for which the tokenizer of Python 3.12 and 3.13 has a SystemError
    # Python counts rows the same way whatever ends a line; tokenize does not.
    lines = io.BytesIO(readable(data).replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
    try:
        yield from tokenize.tokenize(lines.readline)
    except (tokenize.TokenError, SyntaxError, ValueError, LookupError):  # the last two are of the encoding
        return


def _comments(token: tokenize.TokenInfo, *patterns: re.Pattern[str]) -> Iterator[Comment]:
    row, start = token.start
    for pattern in patterns:
        for match in pattern.finditer(token.string):
            listed = match["codes"]
            end = match.start() + len(match[0].rstrip())
            yield Comment(
                row,
                start + match.start() + 1,
                start + end + 1,
                frozenset(map(meant, words_in(listed))) if listed else None,
                start + match.start("codes") + 1 if listed else 0,
                start + match.end("codes") + 1 if listed else 0,
                alone=end - match.start() == len(token.line.strip()),
                own=bool(re.search(_NAME_OF_THE_TOOL, match[0][: match.start("codes") - match.start()])),
            )


@dataclass(slots=True)
class Comments:
    """The suppressions of all files that findings point at, and which codes of each were needed."""

    sources: Sources
    used: dict[tuple[str, Comment], set[str]] = field(default_factory=dict)
    _by_file: dict[str, list[Suppression]] = field(default_factory=dict)

    def of(self, path: str) -> list[Suppression]:
        if path not in self._by_file:
            self._by_file[path] = suppressions(self.sources.data(path))
        return self._by_file[path]

    def silence(self, finding: Finding) -> bool:
        """Does a comment keep it from being told? One at another place of the same cause is of use, but not enough."""
        story = [site for site in finding.sites if site not in finding.also]
        silent = [self._covers(finding.code, site, primary=not number) for number, site in enumerate(story)]
        for site in finding.also:
            self._covers(finding.code, site, primary=True)
        return any(silent)

    def _covers(self, code: str, site: Site, *, primary: bool) -> bool:
        found = [each for each in self.of(site.path) if each.silences(code, site.row, primary=primary)]
        for suppression in found:
            self.used.setdefault((site.path, suppression.comment), set()).add(code)
        return bool(found)


def partition(findings: Iterable[Finding], sources: Sources) -> tuple[list[Finding], list[Finding]]:
    """Findings to be shown, and findings that a comment silences."""
    comments = Comments(sources)
    shown: list[Finding] = []
    silenced: list[Finding] = []
    for finding in findings:
        (silenced if comments.silence(finding) else shown).append(finding)
    return shown, silenced
