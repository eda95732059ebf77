"""Which Python a project runs on, as far as it says, and which one can read all of it."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fsdp2_lint.files.reading import read
from fsdp2_lint.files.source import display_path
from fsdp2_lint.vocab.target import in_digits

if TYPE_CHECKING:
    from fsdp2_lint.files.syntax import Problem

_SHOWN = 3
_STATED = (
    (".python-version", re.compile(r"^\s*(?:cpython-)?(\d+\.\d+[\w.]*)")),
    ("pyproject.toml", re.compile(r"^[ \t]*requires-python[ \t]*=[ \t]*[\"']([^\"'\n]+)", re.MULTILINE)),
)


def too_new(problems: Sequence[Problem], root: str) -> list[str]:
    """What is said of files that only a newer Python can read: one line, or none."""
    needs = [problem.needs for problem in problems if problem.needs is not None]
    if not needs:
        return []
    paths = [f"{display_path(problem.path)}:{problem.row}" for problem in problems]
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return [
        f"taken as code that is not seen: {', '.join(paths[:_SHOWN])}{more}: syntax of Python {in_digits(max(needs))},"
        f" and fsdp2-lint runs on {in_digits(sys.version_info[:2])}: install it under {in_digits(max(needs))} or"
        f" newer{_stated(Path(root))}"
    ]


def _stated(root: Path) -> str:
    """What the project says of its own Python."""
    for name, pattern in _STATED:
        try:
            match = pattern.search(read(root / name)[:100_000].decode("utf-8", "replace"))
        except OSError:
            continue
        if match is not None:
            return f" (the project's {name} says {match[1].strip()})"
    return ""
