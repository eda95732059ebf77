"""Which files are to be checked, and which of them mention FSDP2 at all.

Most trees hold little or no FSDP2, so a file is only read and searched for two words
here; parsing is for the files that have one. Nothing in this module imports the engine.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field

WORDS = (b"fully_shard", b"FSDPModule")
SKIPPED_FOLDERS = frozenset({"venv", "node_modules", "__pycache__", "__pypackages__", "build", "dist", "site-packages"})
ROOT_MARKERS = (".git", "pyproject.toml")


@dataclass(slots=True)
class Discovered:
    """What lies under the given paths. All paths are absolute and free of symbolic links."""

    files: list[str] = field(default_factory=list)
    candidates: list[str] = field(default_factory=list)
    explicit: dict[str, bytes] = field(default_factory=dict)
    overlay: dict[str, bytes] = field(default_factory=dict)
    errors: list[tuple[str, str]] = field(default_factory=list)
    root: str = ""
    words: tuple[bytes, ...] = WORDS


def discover(paths: Iterable[str], *, stdin: tuple[str, bytes] | None = None, words: Iterable[str] = ()) -> Discovered:
    """Walk folders, take files as they are named. ``stdin`` is a file name and its contents.

    ``words`` make a file a candidate too.
    """
    found = Discovered(words=(*WORDS, *(word.encode() for word in words)))
    seen: set[str] = set()
    places: list[str] = []
    if stdin is not None:
        path = os.path.realpath(stdin[0])
        places.append(os.path.dirname(path))
        seen.add(path)
        found.overlay[path] = stdin[1]
        _take_explicit(found, path, stdin[1])
    for given in paths:
        path = os.path.realpath(given)
        if os.path.isdir(path):
            places.append(path)
            _walk(path, found, seen)
        elif path not in seen:
            seen.add(path)
            _read_explicit(given, path, found)
            places.append(os.path.dirname(path))
    found.root = _root(places)
    return found


def _walk(top: str, found: Discovered, seen: set[str]) -> None:
    folders = [top]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            found.errors.append((folder, f"cannot be read: {_reason(error)}"))
            continue
        if folder != top and any(entry.name == "pyvenv.cfg" for entry in entries):
            continue  # a virtual environment, whatever its folder is called
        inner = []
        for entry in entries:
            name = entry.name
            try:
                if name.endswith(".py"):
                    if entry.is_file():  # not a folder, a pipe or a dangling link
                        path = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
                        if path not in seen:
                            seen.add(path)
                            _read_walked(path, found)
                elif name[0] != "." and name not in SKIPPED_FOLDERS and entry.is_dir(follow_symlinks=False):
                    inner.append(entry.path)
            except OSError as error:
                found.errors.append((entry.path, f"cannot be read: {_reason(error)}"))
        folders.extend(reversed(inner))


def _read_walked(path: str, found: Discovered) -> None:
    try:
        data = _read(path)
    except FileNotFoundError:
        return  # deleted since it was listed
    found.files.append(path)
    for word in found.words:
        if word in data:
            found.candidates.append(path)
            return


def _read_explicit(given: str, path: str, found: Discovered) -> None:
    try:
        if not stat.S_ISREG(os.stat(given).st_mode):
            # A pipe such as /dev/fd/63 can be read once only, and only by the name given.
            path = os.path.abspath(given)
            data = found.overlay[path] = _read(given)
        else:
            data = _read(path)
    except (OSError, ValueError) as error:
        found.errors.append((given, f"cannot be read: {_reason(error)}"))
        return
    _take_explicit(found, path, data)


def _take_explicit(found: Discovered, path: str, data: bytes) -> None:
    found.files.append(path)
    found.explicit[path] = data
    if any(word in data for word in found.words):
        found.candidates.append(path)


def _read(path: str) -> bytes:
    """Plain system calls: the file objects of ``open`` cost as much as the search itself."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        status = os.fstat(descriptor)
        data = os.read(descriptor, status.st_size + 1)
        if len(data) <= status.st_size and stat.S_ISREG(status.st_mode):
            return data
        parts = [data]  # a pipe, or a file that grows or is too large for one read
        while parts[-1]:
            parts.append(os.read(descriptor, 1 << 20))
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)


def _root(places: list[str]) -> str:
    """The project around all given paths: imports are followed inside it and nowhere else."""
    try:
        common = os.path.commonpath(places)
    except ValueError:  # none, or on two drives
        return places[0] if places else os.getcwd()
    folder = common
    while True:
        if any(os.path.exists(os.path.join(folder, marker)) for marker in ROOT_MARKERS):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return common
        folder = parent
