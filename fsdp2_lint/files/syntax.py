"""Files that Python itself rejects, told as findings."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsdp2_lint.catalogue.codes import OWN_CODES
from fsdp2_lint.files.parsing import parsed
from fsdp2_lint.vocab.target import Version


# -- files that could not be analysed
@dataclass(frozen=True, slots=True)
class Problem:
    """A file that could not be analysed."""

    path: str
    row: int
    column: int
    message: str
    needs: Version | None = None  # the Python that can read it, where this one cannot


if TYPE_CHECKING:
    from fsdp2_lint.vocab.finding import Finding

CODE, *_ = OWN_CODES
NAME = OWN_CODES[CODE]


def problem(path: str, data: bytes) -> tuple[int, int, str] | None:
    """Row, column and words if no Python can parse ``data``. Nothing of it is executed."""
    try:
        parsed(data, path)
    except SyntaxError as error:
        from fsdp2_lint.files.newer import reading

        if reading(data) is not None:
            return None
        return error.lineno or 1, error.offset or 1, f"syntax error: {error.msg}"
    except ValueError as error:
        return 1, 1, f"cannot be decoded: {error}"
    except (RecursionError, MemoryError):
        return 1, 1, "is nested too deeply to be parsed"
    return None


def readable(data: bytes) -> bytes:
    """The file, or in place of syntax that this Python does not know what it does, in the same rows."""
    try:
        parsed(data)
    except SyntaxError:
        from fsdp2_lint.files.newer import reading

        found = reading(data)
        return found.text.encode("utf-8", "replace") if found is not None and found.same else data
    except (ValueError, RecursionError, MemoryError):
        pass
    return data


def is_syntax_error(message: str) -> bool:
    """Is it the file's grammar? Bytes that are no text at all are another matter.

    Which of the two exceptions Python raises for undecodable bytes differs between its versions.
    """
    undecodable = ("unicode error", "encoding", "null byte")
    return message.startswith("syntax error") and not any(words in message for words in undecodable)


def finding(path: str, row: int, column: int, message: str) -> Finding:
    from fsdp2_lint.vocab.finding import Finding, Label, Severity, Site

    site = Site(path, max(row, 1), max(column, 1))
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Finding(
        code=CODE,
        name=NAME,
        severity=Severity.ERROR,
        message=message,
        primary=Label(site, "Python stops here"),
        help=f"correct the syntax, or run fsdp2-lint with the Python that the project uses (it ran on {python})",
    )
