"""The way into the world."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext

from ...runtime.adapter import rehearsal
from .cuda import pretend
from .devices import Devices, OnCpu, follow_threads, redirect
from .groups import Groups, connect
from .place import Depth, Limit, Limits, Place, Told


class World:
    """What a rehearsal runs in, and what it cannot show."""

    def __init__(self, place: Place, depth: Depth) -> None:
        self.place = place
        self.depth = depth
        self.said = Limits()
        self.devices = Devices(place, self.said)
        self.groups = Groups(place, self.devices, self.said)
        self.told: Told | None = None

    @property
    def limits(self) -> list[Limit]:
        """What was not as in the job, each once, in the order in which it came up."""
        return list(self.said.said)

    def real_work(self) -> AbstractContextManager[object]:
        """Where tensors have values, for hooks that need them. It may be entered in real tensors too."""
        return rehearsal.without_fakes() if self.depth != "real" else nullcontext()


def enter(place: Place, depth: Depth) -> World:
    """Make this process rank ``place.rank`` of a job on GPUs. There is no way back."""
    rehearsal.load_what_looks_around()
    world = World(place, depth)
    os.environ.update(place.variables())
    mode = redirect(world.devices)
    pretend(world.devices)
    connect(world.groups)
    follow_threads(_modes(mode, depth))
    return world


def _modes(mode: OnCpu, depth: Depth) -> Callable[[], AbstractContextManager[object]]:
    def entered() -> AbstractContextManager[object]:
        stack = ExitStack()
        stack.enter_context(mode)
        return stack

    return entered
