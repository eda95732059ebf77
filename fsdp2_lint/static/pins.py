"""The oldest torch that a project says it runs on, read off its dependency files as text."""

from __future__ import annotations

import re
from pathlib import Path

from ..vocab.target import Version

_FILES = ("pyproject.toml", "setup.py", "setup.cfg", "requirements*.txt", "requirements/*.txt", "requirements/*/*.txt")
_PIN = re.compile(r"""(?<![\w-])torch["']?\s*[=:]?\s*["'(]?\s*(?:==|>=|~=|\^)\s*(\d+)\.(\d+)""")
_NAMED = re.compile(r"torch[-_]?(\d)\.(\d+)")
MAX_BYTES = 200_000


def oldest_torch(path: str, root: Path) -> Version | None:
    """The lowest version that the file's own folder names, or the dependency files around it allow; None: not said."""
    own = Path(path).parent
    named = _NAMED.search(str(own.relative_to(root)) if own.is_relative_to(root) else "")
    if named:
        return int(named[1]), int(named[2])
    for folder in (own, *own.parents):
        found = [version for pattern in _FILES for file in folder.glob(pattern) for version in _pins(file)]
        if found:
            return min(found)
        if folder == root:
            break
    return None


def _pins(file: Path) -> list[Version]:
    try:
        text = file.read_bytes()[:MAX_BYTES].decode("utf-8", "replace")
    except OSError:
        return []
    return [(int(major), int(minor)) for major, minor in _PIN.findall(text)]
