"""What a terminal may be sent: colours, widths, and no control characters of others."""

from __future__ import annotations

import re
import unicodedata

TAB = 4
NARROWEST = 40  # columns: below that, lines are as for so many
_COMMAND = re.compile(r"^([^\S\n]*):(?=:[^:])|(?<=#)#(?=(?:vso)?\[)", re.MULTILINE)
_REPLACED = "\N{REPLACEMENT CHARACTER}"
_CODES = {"error": "1;31", "warning": "1;33", "info": "1;36", "bold": "1", "dim": "2", "blue": "1;34"}


class Paint:
    """Colours text, or leaves it alone."""

    def __init__(self, color: bool) -> None:
        self.color = color

    def __call__(self, text: str, style: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.color and text else text


def clean(text: str) -> str:
    """One line, without characters that move the cursor or reverse the reading direction."""
    return "".join(printable(char) for char in " ".join(text.split()))


def fitted(text: str, width: int | None, first: int, rest: int) -> list[str]:
    """Lines for a terminal: ``first`` columns are taken already, further lines begin after ``rest`` blanks.

    One line where no terminal says how wide it is. Words are never cut.
    """
    if width is None:
        return [text]
    import textwrap

    lines = textwrap.wrap(
        text,
        max(width, NARROWEST),
        initial_indent=" " * first,
        subsequent_indent=" " * rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line[0 if number else first :] for number, line in enumerate(lines or [""])]


def defused(text: str) -> str:
    """Without what services take for a command when they read a log: ``::error`` first on a line, ``##[`` anywhere."""
    return _COMMAND.sub(lambda found: f"{found[1] or ''}{_REPLACED}", text)


def defused_json(text: str) -> str:
    """The same values. In JSON lines begin with braces, brackets and quotes."""
    return text.replace("##[", "\\u0023#[").replace("##vso[", "\\u0023#vso[")


def harmless(text: str) -> str:
    """Several lines for a terminal or a log, whatever names of files are in them."""
    lines = text.split("\n")
    return defused("\n".join(line if line.isprintable() else "".join(map(_shown, line)) for line in lines))


def one_line(text: str) -> str:
    """The same on one line, whatever the names hold."""
    return harmless(text.replace("\n", _REPLACED))


def _shown(char: str) -> str:
    """As :func:`printable`; a byte of a name that is no text may be shown by its number."""
    return char if char == "\t" or unicodedata.category(char) == "Cs" else printable(char)


def cells(line: str) -> list[tuple[str, int]]:
    """Each character of a source line as it is shown, with the columns it takes on screen."""
    shown: list[tuple[str, int]] = []
    column = 0
    for char in line:
        if char == "\t":
            width = TAB - column % TAB
            shown.append((" " * width, width))
        else:
            char = printable(char)
            width = _width(char)
            shown.append((char, width))
        column += shown[-1][1]
    return shown


def printable(char: str) -> str:
    # Cc: escape sequences start here. Cf: marks that make source read in another order.
    return _REPLACED if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") else char


def _width(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
