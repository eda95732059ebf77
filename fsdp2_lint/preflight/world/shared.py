"""What one rehearsed rank leaves for those that are rehearsed after it: the same folder for all of one rehearsal."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch.distributed as dist

from ...files.writing import put
from ...runtime.adapter import rehearsal


@dataclass(frozen=True)
class Turn:
    """One exchange of a group; all ranks count alike. ``file`` is None where nothing is shared."""

    file: Path | None

    def was_left(self) -> bool:
        return self.file is not None and self.file.exists()

    def leave(self, found: object) -> None:
        if self.file is not None:
            with rehearsal.without_fakes():
                put(str(self.file.absolute()), pickle.dumps(found))

    def left(self) -> Any:
        """What was left; ask ``was_left`` before."""
        if self.file is None:
            raise FileNotFoundError("nothing is shared")
        with rehearsal.without_fakes():
            return pickle.loads(self.file.read_bytes())


class Shared:
    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._turns: dict[str, int] = {}

    def turn(self, kind: str, group: Any, source: int | None = None) -> Turn:
        """The next exchange of a kind in a group, from one sender or among all."""
        ranks = dist.get_process_group_ranks(group if group is not None else dist.group.WORLD)
        key = hashlib.sha256(repr((kind, sorted(ranks), source)).encode()).hexdigest()[:16]
        turn = self._turns[key] = self._turns.get(key, -1) + 1
        return Turn(self.folder / f"{key}-{turn}" if self.folder is not None else None)
