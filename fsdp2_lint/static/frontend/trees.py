"""Files that an earlier run of the same process has parsed, for whoever checks again and again."""

from __future__ import annotations

from .module import Module

_MOST = 400  # files, about 100 MB: those that were asked for last


class Trees:
    """Parsed files by path, each good for one content of it."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._kept: dict[str, tuple[str, Module]] = {}  # the longest unused first

    def get(self, path: str, digest: str) -> Module | None:
        """The file as it was parsed, if it held the same."""
        found = self._kept.pop(path, None)
        if found is None or found[0] != digest:
            return None
        self._kept[path] = found
        return found[1]

    def put(self, path: str, digest: str, module: Module) -> None:
        self._kept.pop(path, None)
        self._kept[path] = digest, module
        while len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]
