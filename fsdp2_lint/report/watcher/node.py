"""The ranks of one machine, side by side."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..hangs.layers import Layers
from .local import Local
from .processes import Deaths


@dataclass(slots=True)
class Node:
    """The ranks of this node, by the names of their files. ``patience`` is in seconds."""

    folder: Path
    patience: float
    layers: Layers
    ranks: dict[str, Local] = field(default_factory=dict)
    deaths: Deaths = field(default_factory=Deaths)

    def look(self, now: float) -> None:
        for path in sorted(self.folder.glob("*.beat")):
            if path.stem not in self.ranks:
                self.ranks[path.stem] = Local(path, self.layers, now)
        for rank in self.ranks.values():
            known, ended = bool(rank.beat), rank.ended
            rank.look(self.patience, now)
            if rank.beat and not known:
                self.deaths.watch(rank.beat["pid"])
            if rank.ended and not ended:
                self.deaths.forget(rank.beat["pid"])

    def excuse(self, now: float) -> None:
        for rank in self.ranks.values():
            rank.excuse(now)

    @property
    def is_over(self) -> bool:
        """Also where a rank was killed before its first beat."""
        return bool(self.ranks) and all(rank.ended or not rank.beat for rank in self.ranks.values())
