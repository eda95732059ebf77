"""Reads files that anybody may have put there: nothing that waits for a writer, and nothing that never ends.

The limits stand here, where all can have them cheaply, and in the table of budgets, which says what lies beyond.
"""

from __future__ import annotations

import errno
import os
import stat

FILE_BYTES = 4_000_000
NOTEBOOK_BYTES = 40_000_000
NOTEBOOK_CELLS = 10_000
SETTINGS_BYTES = 1_000_000
CONFIGURATION_FILES = 2_000
CONFIGURATION_BYTES = 200_000
REPORT_BYTES = 50_000_000
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # for what was replaced by a pipe in the meantime, and for some of /proc
_OWN = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")


class TooLarge(OSError):
    """``head`` is what was read before the limit."""

    def __init__(self, head: bytes, most: int) -> None:
        super().__init__(errno.EFBIG, f"it is larger than {most // 1_000_000} MB")
        self.head = head


def read(path: str | os.PathLike[str], most: int = FILE_BYTES) -> bytes:
    """What a regular file holds. OSError for anything else and for more than ``most`` bytes, ValueError for a NUL."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):  # to open a device may do something already
        raise OSError(errno.EINVAL, "it is not a regular file")
    return _all_of(os.open(path, _FLAGS | _AT_ONCE), most)


def read_given(path: str, most: int = FILE_BYTES) -> bytes:
    """The same of a file that the user names, which may also be a pipe that is open already: the shell's ``<(…)``."""
    return _all_of(os.open(path, _FLAGS), most) if path.startswith(_OWN) else read(path, most)


def _all_of(descriptor: int, most: int) -> bytes:
    """Plain system calls: the file objects of ``open`` cost as much as the search for words itself."""
    try:
        left = min(os.fstat(descriptor).st_size, most) + 1
        parts = [os.read(descriptor, left)]
        while parts[-1] and (len(parts) > 1 or len(parts[0]) == left):  # it grows, is no file or too large for one read
            parts.append(os.read(descriptor, 1 << 20))
            if sum(map(len, parts)) > most:
                break
    finally:
        os.close(descriptor)
    data = b"".join(parts)
    if len(data) > most:
        raise TooLarge(data[:most], most)
    return data


def reason_of(error: OSError | ValueError) -> str:
    return f"cannot be read: {getattr(error, 'strerror', None) or error}"
