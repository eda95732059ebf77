"""What one process of a rehearsal is to play. Plain data: who starts the processes needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..vocab.target import Version

Depth = Literal["plan", "step", "real"]


@dataclass(frozen=True, slots=True)
class Place:
    """A rank of a job. ``local_world_size`` is the number of GPUs of a node."""

    rank: int
    world_size: int
    local_world_size: int

    def __post_init__(self) -> None:
        if not 0 <= self.rank < self.world_size or self.local_world_size < 1:
            raise ValueError(f"there is no rank {self.rank} among {self.world_size}")

    @property
    def local_rank(self) -> int:
        return self.rank % self.local_world_size

    @property
    def node(self) -> int:
        return self.rank // self.local_world_size

    def variables(self) -> Mapping[str, str]:
        """What torchrun would set for this rank. Nobody ever connects to the address."""
        nodes = -(-self.world_size // self.local_world_size)
        on_this_node = min(self.local_world_size, self.world_size - self.node * self.local_world_size)
        return {
            "RANK": str(self.rank),
            "WORLD_SIZE": str(self.world_size),
            "LOCAL_RANK": str(self.local_rank),
            "LOCAL_WORLD_SIZE": str(on_this_node),
            "GROUP_RANK": str(self.node),
            "GROUP_WORLD_SIZE": str(nodes),
            "ROLE_RANK": str(self.rank),
            "ROLE_WORLD_SIZE": str(self.world_size),
            "MASTER_ADDR": "localhost",
            "MASTER_PORT": "29500",
        }


@dataclass(frozen=True, slots=True)
class Script:
    """``name`` is a file, a module (``kind`` is -m), or the code itself (-c)."""

    name: str
    arguments: tuple[str, ...] = ()
    kind: Literal["", "-m", "-c"] = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """How far to go, and what to look for. ``ranks``: the ones to play; none: one of each kind.

    ``patience``: seconds in which nothing happens until a rank is given up; 0: it never is. ``target``: the torch that
    the job is to run on; None: the one that is installed.
    """

    depth: Depth = "step"
    steps: int = 2
    per_node: int = 8
    ranks: tuple[int, ...] = ()
    select: tuple[str, ...] = ("FSDP",)
    ignore: tuple[str, ...] = ()
    patience: float = 600.0
    target: Version | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """``ranks``: all that are played, as far as that is known yet. ``token``: what its processes share."""

    script: Script
    asked: Asked
    place: Place
    ranks: tuple[int, ...]
    folder: Path
    token: str

    @property
    def sent(self) -> Path:
        """What ranks leave for those that are rehearsed after them, until the last one has ended."""
        return self.folder / "sent"
