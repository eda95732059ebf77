"""Folders that a script makes for what a rehearsal does not write: an empty one would be taken for a checkpoint."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .replacing import instead


class Folders:
    def __init__(self) -> None:
        self._made: list[str] = []

    def note(self) -> None:
        """From now on, which folders are made."""

        def noting(original: Callable[..., Any]) -> Callable[..., Any]:
            def mkdir(path: Any, *args: Any, **kwargs: Any) -> None:
                original(path, *args, **kwargs)
                self._made.append(os.path.abspath(os.fsdecode(path)))

            return mkdir

        instead([(os, "mkdir")], noting)

    def remove_empty(self) -> None:
        """What holds anything stays."""
        for path in reversed(self._made):
            with suppress(OSError):
                os.rmdir(path)
