"""Which rank is rehearsed and how deep, and what a rehearsal cannot show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ...vocab.finding import Site

Depth = Literal["plan", "step", "real"]


class CannotRehearse(Exception):
    """The script does what no rehearsal can stand in for. The message says what, in words for its author."""


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
class Limit:
    """What was not as in the job, and what that means. ``site`` is the user's line, where there is one."""

    text: str
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class Save:
    """What would have been written: by ``dcp.save``, ``dcp.async_save`` or ``torch.save``, whereto, and the state."""

    by: str
    target: str
    state: Any
    site: Site


@dataclass(slots=True)
class Limits:
    """Each is said once, and none while torch works on what no script sees."""

    said: dict[Limit, None] = field(default_factory=dict)
    quiet: bool = False

    def say(self, text: str, site: Site | None = None) -> None:
        if not self.quiet:
            self.said.setdefault(Limit(text, site))


Told = Callable[[Save], None]
