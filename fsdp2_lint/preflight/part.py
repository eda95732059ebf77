"""What one process of a rehearsal is to play. Plain data: who starts the processes needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Depth = Literal["plan", "step", "real"]


@dataclass(frozen=True, slots=True)
class Place:
    """A rank in a job. ``local_world_size``: GPUs of each node."""

    rank: int
    world_size: int
    local_world_size: int


@dataclass(frozen=True, slots=True)
class Script:
    """``name`` is a file, a module (``kind`` is -m), or the code itself (-c)."""

    name: str
    arguments: tuple[str, ...] = ()
    kind: Literal["", "-m", "-c"] = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """How far to go, and what to look for. ``ranks``: the ones to play; none: one of each kind."""

    depth: Depth = "step"
    steps: int = 2
    per_node: int = 8
    ranks: tuple[int, ...] = ()
    select: tuple[str, ...] = ("FSDP",)
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """``ranks``: all that are played. ``token``: what the processes of one rehearsal have in common."""

    script: Script
    asked: Asked
    place: Place
    ranks: tuple[int, ...]
    folder: Path
    token: str
