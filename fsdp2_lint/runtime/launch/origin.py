"""Which of the user's files a job runs, and of which commit: a report without them could be that of any program."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from ..sites import is_of_the_user


def users_files() -> set[str]:
    """The user's own source files that this process has loaded by now, the script among them."""
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    own = {os.path.abspath(file) for file in files if isinstance(file, str) and file.endswith(".py")}
    return {file for file in own if is_of_the_user(file)}


def commit_of(folder: Path) -> str:
    """The commit that is checked out around a folder, empty where there is none. Git itself is not run."""
    with suppress(OSError, ValueError):
        for above in (folder, *folder.parents):
            if (git := above / ".git").exists():
                return _head(_followed(git))
    return ""


def _followed(git: Path) -> Path:
    """The folder that a ``.git`` stands for: in a worktree or a submodule it is a file that names it."""
    return git if git.is_dir() else git.parent / git.read_text().removeprefix("gitdir:").strip()


def _head(git: Path) -> str:
    head = (git / "HEAD").read_text().strip()
    if not head.startswith("ref: "):
        return head
    name, common = head.removeprefix("ref: "), git
    with suppress(OSError):
        common = git / (git / "commondir").read_text().strip()
    for where in (git, common):
        with suppress(OSError):
            return (where / name).read_text().strip()
    packed = (line.split() for line in (common / "packed-refs").read_text().splitlines())
    return next((words[0] for words in packed if words[1:] == [name]), "")
