"""A revision of a git repository, as files to read. Neither the working tree nor the repository is touched by it.

Only git's plumbing is asked, which runs no hooks and no filters that the repository may name.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fsdp2_lint.files.discovery import below
from fsdp2_lint.files.reading import FILE_BYTES

_READ = (
    ".py",
    ".ipynb",
    ".toml",
    ".txt",
    ".cfg",
    ".lock",
    ".json",
    ".gitignore",
)  # code, and what says how to judge it
_PLAIN = (b"100644", b"100755")
_SECONDS = 60


def top_of(folder: str) -> str | None:
    """The folder of the repository around ``folder``; None without one, or without git."""
    said = _git(folder, "rev-parse", "--show-toplevel")
    return os.path.realpath(os.fsdecode(said.rstrip(b"\n"))) if said else None


def commit_of(revision: str, top: str) -> str | None:
    """The commit that a revision names; None if it names none."""
    said = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return said.decode().strip() if said else None


@contextmanager
def written_out(commit: str, top: str) -> Iterator[str]:
    """A folder with the files of a commit, for as long as it is looked at."""
    with tempfile.TemporaryDirectory(prefix="fsdp2-lint-") as made:
        folder = os.path.realpath(made)
        os.mkdir(os.path.join(folder, ".git"))  # where the project begins, as it does in the repository
        for name, data in _contents(commit, top):
            path = os.path.normpath(os.path.join(folder, name))
            if below(path, folder):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                Path(path).write_bytes(data)
        yield folder


def _contents(commit: str, top: str) -> Iterator[tuple[str, bytes]]:
    """The files that can matter: names below the top, and what they hold."""
    listed = [*_blobs(commit, top)]
    held = _git(top, "cat-file", "--batch", given=b"".join(blob + b"\n" for _, blob in listed)) or b""
    start = 0
    for name, _ in listed:
        header, _, _ = held[start : start + 200].partition(b"\n")
        if header.count(b" ") != 2:  # a partial clone does not have it
            start += len(header) + 1
            continue
        begin = start + len(header) + 1
        start = begin + int(header.split()[2]) + 1
        yield name, held[begin : start - 1]


def _blobs(commit: str, top: str) -> Iterator[tuple[str, bytes]]:
    for line in (_git(top, "ls-tree", "-r", "-l", "-z", "--full-tree", commit) or b"").split(b"\0")[:-1]:
        about, _, name = line.partition(b"\t")
        mode, _, blob, size = about.split()
        if mode in _PLAIN and int(size) <= FILE_BYTES and os.fsdecode(name).endswith(_READ):
            yield os.fsdecode(name), blob


def _git(folder: str, *arguments: str, given: bytes = b"") -> bytes | None:
    """What git says; None if it cannot, or if there is no git."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
    try:
        ran = subprocess.run(
            ["git", *arguments], cwd=folder, input=given, capture_output=True, timeout=_SECONDS, env=environment
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return ran.stdout if ran.returncode == 0 else None
