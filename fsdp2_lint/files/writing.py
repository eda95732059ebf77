"""Puts new contents into files: of several all or none, and a kill leaves each as it was or as it was to be.

A file is never written into. What it will hold goes into a temporary file beside it, onto the disk, and takes its name
at once. A killed run may leave temporary files, which are no Python files and in nobody's way.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from fsdp2_lint.errors import Refusal
from fsdp2_lint.files.source import display_path

PREFIX, SUFFIX = ".fsdp2-lint-", ".tmp"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class NotWritten(Refusal):
    """Nothing is changed, or the text says what is."""


@dataclass(frozen=True, slots=True)
class Change:
    """``before`` is what the file held when ``after`` was made of it; None if there was no file."""

    path: str  # absolute, without symbolic links
    before: bytes | None
    after: bytes


@dataclass(frozen=True, slots=True)
class _Staged:
    """A change whose new content, and the old one to put back, lie beside its file."""

    change: Change
    new: str
    old: str | None  # None: there was no file


def write(changes: Iterable[Change]) -> None:
    """All of them, or none and NotWritten."""
    wanted = list(changes)
    with ExitStack() as temporaries:
        staged = [_staged(change, temporaries) for change in wanted]
        for change in wanted:
            _check(change)
        _rename(staged)
    for folder in {os.path.dirname(change.path) for change in wanted}:
        _settle(folder)


def put(path: str, data: bytes) -> None:
    """Whatever the file held before. What is no file, such as a pipe, is written into."""
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as stream:
            stream.write(data)
    else:
        real = os.path.realpath(path)
        with _refused(real):
            before = held(real)
        write([Change(real, before, data)])


def held(path: str) -> bytes | None:
    """What a file holds now; None if there is none. Of what is no file, such as a pipe, nothing is read."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise NotWritten(f"{display_path(path)}: cannot be written: it is not a regular file")
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _staged(change: Change, temporaries: ExitStack) -> _Staged:
    with _refused(change.path):
        if change.before is None:
            return _Staged(change, _temporary(change, change.after, temporaries), None)
        if not os.stat(change.path).st_mode & 0o222 or not os.access(change.path, os.W_OK):  # root may write all
            raise NotWritten(f"{display_path(change.path)}: cannot be written: it is read-only; nothing was changed")
        new = _temporary(change, change.after, temporaries)
        return _Staged(change, new, _temporary(change, change.before, temporaries))


def _temporary(change: Change, data: bytes, temporaries: ExitStack) -> str:
    """A new file beside the one that it will replace, as readable as that, on the disk."""
    name = os.path.join(os.path.dirname(change.path), f"{PREFIX}{os.urandom(8).hex()}{SUFFIX}")
    descriptor = os.open(name, _NEW, 0o666 if change.before is None else 0o600)
    temporaries.callback(_remove, name)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        if change.before is not None:
            _as_before(change.path, name)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return name


def _as_before(path: str, name: str) -> None:
    """The owner as far as that is allowed, the permissions, and what else is kept beside the content but its time."""
    status = os.stat(path)
    if hasattr(os, "chown"):
        with suppress(PermissionError):
            os.chown(name, status.st_uid, status.st_gid)
    shutil.copystat(path, name)
    os.utime(name)


def _check(change: Change) -> None:
    """Is the file what it was when the change was made? Somebody may have saved it, or put a link in its place."""
    with _refused(change.path):
        if os.path.realpath(change.path) != change.path or held(change.path) != change.before:
            raise NotWritten(f"{display_path(change.path)}: was changed meanwhile; nothing was written")


def _rename(staged: Sequence[_Staged]) -> None:
    done: list[_Staged] = []
    try:
        for each in staged:
            _check(each.change)
            done.append(each)  # before it is done, for an interruption in between
            with _refused(each.change.path):
                os.replace(each.new, each.change.path)
    except BaseException as error:
        left = [each.change.path for each in reversed(done) if not _put_back(each)]
        if left and isinstance(error, NotWritten):
            raise NotWritten(f"{error}, but for {', '.join(map(display_path, sorted(left)))}") from None
        raise


def _put_back(staged: _Staged) -> bool:
    """True if the file is as it was. One that somebody else has changed since stays."""
    change = staged.change
    try:
        if held(change.path) == change.before:
            return True
        _check(Change(change.path, change.after, b""))
        if staged.old is not None:
            os.replace(staged.old, change.path)
        else:
            os.unlink(change.path)
    except (OSError, NotWritten):
        return False
    return True


@contextmanager
def _refused(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise NotWritten(f"{display_path(path)}: cannot be written: {why}; nothing was changed") from None


def _remove(name: str) -> None:
    with suppress(OSError):  # it has its place by now
        os.unlink(name)


def _settle(folder: str) -> None:
    """The new names, too, onto the disk, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
