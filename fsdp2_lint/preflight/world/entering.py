"""The way into the world."""

from __future__ import annotations

import os
import warnings
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any

from ...runtime.adapter import rehearsal
from ...runtime.adapter.rehearsed import Rehearsed, rehearse
from . import nccl
from .agreed import Agreed
from .attention import attend, attend_flexibly
from .checkpoints import Checkpoints, leave_files_alone
from .cuda import pretend
from .devices import Devices, follow_threads, redirect
from .fakes import fakes, without_values
from .folders import Folders
from .groups import Groups, connect
from .leaving_out import leave_out_compilers, leave_out_workers, refuse_others, run_one_rank
from .objects import Objects, exchange_objects
from .place import Depth, Limit, Limits, Place, Told
from .sharding import cut_for_one_rank
from .shared import Shared
from .unfreezing import Unfreezing
from .written import MetaModel


class World:
    """What a rehearsal runs in, and what it cannot show."""

    def __init__(self, place: Place, depth: Depth, shared: Path | None) -> None:
        self.place = place
        self.depth = depth
        self.said = Limits()
        self.devices = Devices(place, self.said)
        self.groups = Groups(place, self.devices, self.said)
        self.shared = Shared(shared)
        self.objects = Objects(self.said, self.shared)
        self.hollow = MetaModel()
        self.unfreezing = Unfreezing()
        self.folders = Folders()
        self.checkpoints = Checkpoints(self.said, self.devices, self.hollow)

    @property
    def limits(self) -> list[Limit]:
        """What was not as in the job, each once, in the order in which it came up."""
        return list(self.said.said)

    def tell_saves(self, told: Told) -> None:
        """Call ``told`` with each checkpoint that would have been written, while its state is as it was saved."""
        self.checkpoints.told = told

    def tidy(self) -> None:
        """At the end: the ranks after this one find the folders as this one found them."""
        self.folders.remove_empty()

    def real_work(self) -> AbstractContextManager[object]:
        """Where tensors have values, for hooks that need them. It may be entered in real tensors too."""
        return rehearsal.without_fakes() if self.depth != "real" else nullcontext()


def enter(place: Place, depth: Depth, shared: Path | None) -> World:
    """From here on this process is that rank: its variables, devices, groups and files are of the job, for good."""
    rehearsal.load_what_looks_around()
    warnings.filterwarnings("ignore", message="DTensor random operators")  # they have, on the meshes of the job
    warnings.filterwarnings("ignore", message="Accessing the data pointer of FakeTensor")  # what libraries do is theirs
    world = World(place, depth, shared)
    os.environ.update(place.variables())
    mode = redirect(world.devices)
    attention, attending = attend()
    mode.handlers[attention] = attending
    attend_flexibly(world.said)
    pretend(world.devices)
    connect(world.groups)
    nccl.stand_in()
    exchange_objects(world.objects)
    cut_for_one_rank()
    leave_files_alone(world.checkpoints)
    world.folders.note()
    leave_out_compilers(world.said)
    leave_out_workers(world.said)
    run_one_rank(place, world.said)
    refuse_others()
    agreed = Agreed(world.shared, world.said).mode()
    modes: list[Any] = [agreed, mode]
    if depth != "real":
        modes.insert(0, fakes(world.said, world.hollow))
        without_values(world.said, modes[0], mode.handlers)
    agreed.__enter__()
    mode_of_tensors = modes[0] if depth != "real" else None
    mode.handlers |= world.unfreezing.handlers()
    rehearse(
        Rehearsed(
            mode_of_tensors,
            world.groups.device,
            world.hollow.has,
            f"node {place.node}",
            world.unfreezing.told.append,
        )
    )
    follow_threads(lambda: _all(modes))
    return world


def _all(modes: list[Any]) -> AbstractContextManager[object]:
    stack = ExitStack()
    for mode in modes:
        stack.enter_context(mode)
    return stack
