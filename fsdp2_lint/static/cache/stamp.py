"""Which tool it is: another version, or an edit of its own code, makes all that was kept worthless."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

from ...files.digests import digest

_FIRST = "fsdp2_lint/__init__.py"


@cache
def stamp() -> str:
    """The same wherever the same wheel is installed, under the same Python and astroid."""
    return digest(repr((sys.version_info, version("astroid"), _record() or sorted(_files()))).encode())


def _record() -> str:
    """The list that was installed with the package, which has a digest of each file; nothing in a checkout."""
    try:
        text = distribution("fsdp2-lint").read_text("RECORD") or ""
    except PackageNotFoundError:
        return ""
    return text if _FIRST in text else ""


def _files() -> Iterator[tuple[str, int, int]]:
    """Of a checkout the path, the size and the time of each file."""
    folders = [str(Path(__file__).parents[2]), *import_module("fsdp2_lint.rules").__path__]
    while folders:
        for each in os.scandir(folders.pop()):
            if each.is_dir() and each.name != "__pycache__":
                folders.append(each.path)
            elif each.is_file():
                status = each.stat()
                yield each.path, status.st_size, status.st_mtime_ns
