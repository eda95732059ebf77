"""What a terminal may be sent: colours, widths, and no control characters of others."""

from __future__ import annotations

import unicodedata

TAB = 4
_CODES = {"error": "1;31", "warning": "1;33", "info": "1;36", "bold": "1", "dim": "2", "blue": "1;34"}


class Paint:
    """Colours text, or leaves it alone."""

    def __init__(self, color: bool) -> None:
        self.color = color

    def __call__(self, text: str, style: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.color and text else text


def clean(text: str) -> str:
    """One line, without characters that move the cursor or reverse the reading direction."""
    return "".join(_printable(char) for char in " ".join(text.split()))


def cells(line: str) -> list[tuple[str, int]]:
    """Each character of a source line as it is shown, with the columns it takes on screen."""
    shown: list[tuple[str, int]] = []
    column = 0
    for char in line:
        if char == "\t":
            width = TAB - column % TAB
            shown.append((" " * width, width))
        else:
            char = _printable(char)
            width = _width(char)
            shown.append((char, width))
        column += shown[-1][1]
    return shown


def _printable(char: str) -> str:
    # Cc: escape sequences start here. Cf: marks that make source read in another order.
    return "\N{REPLACEMENT CHARACTER}" if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") else char


def _width(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
