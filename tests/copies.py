"""Programs of this repository as projects of their own: where they lie, a check of one looks through all of it."""

from __future__ import annotations

import shutil
from pathlib import Path


def copied(program: Path, folder: Path) -> Path:
    """A script, or the folder of a program, under its own name in ``folder``, which becomes a project."""
    copy = folder / program.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").touch()
    if program.is_dir():
        shutil.copytree(program, copy, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(program, copy)
    return copy
