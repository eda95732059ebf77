"""Which tool it is: another version, or an edit of its own code, makes all that was kept worthless."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import astroid

from ...files.digests import digest

_FIRST = "fsdp2_lint/__init__.py"


@cache
def stamp() -> str:
    """The same wherever the same wheel is installed, under the same Python and astroid."""
    return digest(repr((sys.version_info, astroid.__version__, _record() or sorted(_files()))).encode())


def _record() -> str:
    """The list that was installed with the package, which has a digest of each file; nothing in a checkout.

    Looked for beside the package: ``importlib.metadata`` would find it as well, and takes 20 ms to import.
    """
    found = next(Path(__file__).parents[3].glob("fsdp2_lint-*.dist-info/RECORD"), None)
    try:
        text = found.read_text(encoding="utf-8", errors="surrogateescape") if found is not None else ""
    except OSError:
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
