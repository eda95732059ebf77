"""Process groups of the wanted size in one process: torch's fake ones, under the names that the script asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

from ...runtime.adapter import ranks_of, rehearsal
from ...runtime.sites import called_by_torch
from .devices import Devices, is_gpu
from .place import CannotRehearse, Limits, Place
from .replacing import arguments, instead

VALUES = "no rank sends anything: a collective leaves numbers that are not those of the job, in the right shapes"
OWN_SIZE = "the script says itself how many ranks there are ({size}), not the launcher: that many are rehearsed"
BACKENDS = ("nccl", "gloo", "mpi", "ucc", "xccl")


class Groups:
    """Which backend each group was asked for; torch knows all of them as fake."""

    def __init__(self, place: Place, devices: Devices, limits: Limits) -> None:
        self.place = place
        self.devices = devices
        self.limits = limits
        self.asked: dict[str, str] = {}
        self.along_axes: dict[int, None] = {}  # of each mesh and axis, the rank next to its first one
        self._types: set[str] = set()

    def backend(self, group: Any = None) -> str:
        """As ``dist.get_backend`` answers in the job."""
        return dist.Backend(self._asked(group))

    def config(self, group: Any = None) -> str:
        """As ``dist.get_backend_config``: the backend for each type of device."""
        return str(dist.BackendConfig(dist.Backend(self._asked(group))))

    def _asked(self, group: Any) -> str:
        if group is None and not dist.is_initialized():
            raise ValueError("Default process group has not been initialized, please call init_process_group first.")
        group = dist.group.WORLD if group is None else group
        if (name := getattr(group, "group_name", None)) not in self.asked:
            raise ValueError("Invalid process group specified")  # this rank is no member of it
        return self.asked[str(name)]

    def begin(self, original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound: what a script sees of its group but for values (rank, size, subgroups) is that of a real one.
        def init_process_group(*args: Any, **kwargs: Any) -> None:
            given = arguments(original, args, kwargs)
            rank, size = self._place_of(given)
            self.limits.say(VALUES)
            store = rehearsal.fake_backend()()
            store.set_timeout(timedelta(seconds=1))  # what no rank has written never comes
            original(backend="fake", rank=rank, world_size=size, store=store)
            self._remember(dist.group.WORLD, given.get("backend") or "undefined")

        return init_process_group

    def _place_of(self, given: dict[str, Any]) -> tuple[int, int]:
        rank, size = given.get("rank", -1), given.get("world_size", -1)
        size = self.place.world_size if size is None or size < 0 else int(size)
        if size != self.place.world_size:
            self.limits.say(OWN_SIZE.format(size=size))
        rank = self.place.rank if rank is None or rank < 0 else int(rank)
        if rank >= size:
            raise CannotRehearse(f"the script makes a group of {size} ranks, and this is rank {rank}")
        return rank, size

    def add(self, original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound, as for the group of all ranks.
        def new_group(*args: Any, **kwargs: Any) -> Any:
            given = arguments(original, args, kwargs)
            asked = given.pop("backend", None) or self._asked(None)
            for left_out in ("pg_options", "backend_options", "device_id"):  # they are of NCCL
                given.pop(left_out, None)
            made = original(**given, backend="fake")
            self._remember(made, asked)
            return made

        return new_group

    def _remember(self, group: Any, asked: Any) -> None:
        if isinstance(group, dist.ProcessGroup):
            self.asked[str(group.group_name)] = str(asked).lower()

    def split(self, original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound: groups of the same ranks; how NCCL sets them up is not rehearsed.
        def split_group(*args: Any, **kwargs: Any) -> Any:
            given = arguments(original, args, kwargs)
            parent, kept = given.get("parent_pg"), ("timeout", "group_desc")
            above = dist.get_process_group_ranks(parent if parent is not None else dist.group.WORLD)
            own = None
            for part in given["split_ranks"]:
                options = {name: given[name] for name in kept if name in given}
                made = dist.new_group([above[each] for each in part], **options)
                own = made if isinstance(made, dist.ProcessGroup) else own
            return own

        return split_group

    def mesh(self, original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound: a mesh is ranks and groups; its type of device says where tensors of it lie, which is the CPU here.
        def initialise(mesh: DeviceMesh, device_type: str, *args: Any, **kwargs: Any) -> None:
            original(mesh, self._type(device_type), *args, **kwargs)
            self._note_axes(mesh)

        return initialise

    def _note_axes(self, mesh: DeviceMesh) -> None:
        """Scripts ask for coordinates too: along each axis the second rank stands for those behind it."""
        ranks, step = ranks_of(mesh), len(ranks_of(mesh))
        for size in mesh.shape:
            step //= max(size, 1)
            if size > 1:
                self.along_axes[ranks[step]] = None

    def make_mesh(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def init_device_mesh(device_type: str, *args: Any, **kwargs: Any) -> Any:
            if not dist.is_initialized():  # as a mesh does itself
                dist.init_process_group()
            kwargs.pop("backend_override", None)
            return original(self._type(device_type), *args, **kwargs)

        return init_device_mesh

    def device(self) -> torch.device:
        """Where shards lie in the job: on the GPU that is selected, unless the script has meshes of CPUs alone.

        Without a mesh of its own, FSDP2 makes one of the accelerator. A script that never touched a GPU and asked for
        gloo alone is one for CPUs.
        """
        types = self._types or ({"cpu"} if not self.devices.initialised and self._only_gloo() else set())
        return torch.device("cpu") if types == {"cpu"} else torch.device("cuda", self.devices.current)

    def _only_gloo(self) -> bool:
        return bool(self.asked) and set(self.asked.values()) == {"gloo"}

    def _type(self, device_type: str) -> str:
        """A mesh of GPUs selects that of LOCAL_RANK where nothing was selected before, as torch does."""
        if not called_by_torch(sys._getframe()):
            self._types.add(device_type)
        if not is_gpu(device_type):
            return device_type
        self._select()
        return "cpu"

    def _select(self) -> None:
        if not self.devices.initialised:
            self.devices.select(int(os.environ.get("LOCAL_RANK", self.place.local_rank)))

    def default_mesh(self, original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound: in the job it is one of GPUs, which selects as such a mesh does.
        def initialise(*args: Any, **kwargs: Any) -> Any:
            if not self._only_gloo():
                self._select()
            return original(*args, **kwargs)

        return initialise


def connect(groups: Groups) -> None:
    """Put fake groups in the place of real ones."""
    for name, make in (
        ("init_process_group", groups.begin),
        ("new_group", groups.add),
        ("split_group", groups.split),
        ("init_device_mesh", groups.make_mesh),
    ):
        instead(rehearsal.spots_of_groups(name), make)
    instead([(DeviceMesh, "__init__")], groups.mesh)
    instead(rehearsal.spots_of_default_mesh(), groups.default_mesh)
    # Only for who asks ``torch.distributed``: torch itself goes on to know that the groups are fake.
    instead([(dist, "get_backend")], lambda original: groups.backend)
    instead([(dist, "get_backend_config")], lambda original: groups.config)
    for backend in BACKENDS[:2]:
        instead(rehearsal.spots_of_groups(f"is_{backend}_available"), lambda original: lambda: True)
    # Sound: it returns when all ranks are there, and here all always are.
    instead(rehearsal.spots_of_groups("monitored_barrier"), lambda original: lambda *args, **kwargs: None)
