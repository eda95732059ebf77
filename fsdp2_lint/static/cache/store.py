"""A folder of entries by key. A kill, a race, a full disk or a spoilt entry costs time, and never an answer."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from zlib import compress, decompress
from zlib import error as Spoilt

from ...files.digests import SIZE, plain_digest
from ...files.discovery import is_root
from ...vocab.declared import record

FOLDER = ".fsdp2-lint-cache"
MOST_BYTES = 200_000_000
_SUFFIX, _UNFINISHED = ".entry", ".entry.tmp"
_IGNORE = "# Made by fsdp2-lint: answers that it need not work out again. It may be deleted at any time.\n*\n"


def default_store(root: str, folder: str | None) -> Store | None:
    """In ``folder``, or below a project's root. None where nothing says that it is one: it may be somebody's home.

    Nor is a link followed, which may lead anywhere: it came with the project.
    """
    if folder is not None:
        return Store(Path(folder))
    own = Path(root) / FOLDER
    return Store(own) if is_root(root) and not own.is_symlink() else None


@record
class Store:
    """Entries in ``folder``, which is made with the first of them. Those that were not asked for longest go first."""

    folder: Path
    most_bytes: int = MOST_BYTES

    def get(self, key: str) -> bytes | None:
        """What was put under a key; None if there is nothing, or nothing that is whole."""
        path = self._path(key)
        try:
            data = path.read_bytes()
            head, body = data[:SIZE], data[SIZE:]
            if plain_digest(body) != head:
                return None
            with suppress(OSError):  # in a folder that only others may write into
                os.utime(path)
            return decompress(body)
        except (OSError, Spoilt):
            return None

    def put(self, key: str, data: bytes) -> None:
        """Keep ``data`` if that is possible; whoever reads at the same time finds the old entry or the new one."""
        body = compress(data, 1)
        unfinished = self.folder / f"{key}.{os.urandom(8).hex()}{_UNFINISHED}"
        try:
            self._make()
            unfinished.write_bytes(plain_digest(body) + body)
            os.replace(unfinished, self._path(key))
        except OSError:
            with suppress(OSError):
                unfinished.unlink()

    def prune(self) -> None:
        """Bring the folder below its limit: what was not asked for longest goes first."""
        entries = sorted(self._entries())
        left = sum(size for _, _, size in entries)
        for _, path, size in entries:
            if left <= self.most_bytes:
                return
            with suppress(OSError):
                os.unlink(path)
            left -= size

    def _entries(self) -> list[tuple[float, str, int]]:
        """When each was last asked for, its path, and how many bytes it has."""
        found = []
        with suppress(OSError):
            for each in os.scandir(self.folder):
                if each.name.endswith((_SUFFIX, _UNFINISHED)):
                    with suppress(OSError):
                        status = each.stat(follow_symlinks=False)
                        found.append((status.st_mtime, each.path, status.st_size))
        return found

    def clear(self) -> int:
        """Remove all entries, and the folder if nothing else is in it; how many there were."""
        entries = self._entries()
        for _, path, _ in entries:
            with suppress(OSError):
                os.unlink(path)
        with suppress(OSError):
            (self.folder / ".gitignore").unlink()
            self.folder.rmdir()
        return len(entries)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _make(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        ignore = self.folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text(_IGNORE, encoding="utf-8")
