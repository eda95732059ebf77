"""The process and its device."""

from __future__ import annotations

from ....vocab.answers import Answer, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Moment, Site
from ...domain import events
from ...domain.events import AnyStep
from ...domain.values import Const, Rank
from ...libraries.torch.launch.device import device_kind
from ..ranks.rank_paths import by_first_of_all, by_rank_zero
from ..shared.program import AtStep, Program
from .imported import may_select_device
from .machines import on_one_machine


@record
class StaticProcess:
    program: Program

    def device_selected(self) -> Answer[object]:
        if (step := next(self.program.trace.of(events.DeviceSet), None)) is not None:
            return yes(step.when)
        if self.program.managed_by:
            return yes(self.program.managed_by)
        if (group := next(self.program.trace.of(events.ProcessGroup), None)) and group.what.world_size == Const(1):
            return yes(group.when)  # of one process: the first device is its own
        for who in self.program.machine.libraries.opaque:
            return unknown(f"{who}, which was not followed, may select the device")
        if why := may_select_device(self.program):
            return unknown(why)
        return self.program.nowhere(events.DeviceSet)

    def current_device_used(self) -> Answer[tuple[Moment, str]]:
        """In a run that shards, and only before a mesh: that selects LOCAL_RANK while CUDA is untouched."""
        shardings = list(self.program.trace.of(events.Sharded))
        touches = [step for step in self.program.trace.of(events.DeviceTouch) if not by_rank_zero(step.guard)]
        step = next((each for each in touches if any(each.together(sharding) for sharding in shardings)), None)
        if touches and step is None:
            return unknown("whether a run that uses the device shards anything is not known")
        mesh = self.first_mesh(perhaps=True)
        if (late := self.mesh_on_current()) is not None:
            return yes(late)
        if step is None or mesh is not None and mesh.index < step.index:
            return self.program.among(events.DeviceTouch, events.Mesh)
        return yes((step.when, step.what.how))

    def mesh_on_current(self, before: AnyStep | None = None) -> tuple[Moment, str] | None:
        """Where a mesh of GPUs takes the current device, as it does once CUDA runs, and none was selected.

        Source: ``DeviceMesh._setup_world_group_and_device``, which selects LOCAL_RANK only while CUDA is untouched.
        """
        mesh = self.first_mesh()
        if mesh is None or before is not None and before.index < mesh.index or self._bound():
            return None
        if any(True for _ in self.program.trace.of(events.DeviceSet, before=mesh)):
            return None
        for start in self.program.trace.of(events.DeviceStarted, before=mesh):
            numbers = [leaf for _, leaf in self.program.machine.alternatives(start.what.index)]
            if mesh.guard.implies(start.guard) and all(isinstance(each, Rank) for each in numbers):
                what = "a mesh" if isinstance(mesh.what, events.Mesh) else "fully_shard"
                return mesh.when, f"{what} once CUDA runs"
        return None

    def mesh_made(self) -> Answer[Moment]:
        mesh = self.first_mesh()
        if self._bound():
            return self.program.excluded("the process group is bound to a device")
        return yes(mesh.when) if mesh is not None else self.program.among(events.Mesh)

    def _bound(self) -> bool:
        return any(
            step.what.device_id not in (None, Const(None)) for step in self.program.trace.of(events.ProcessGroup)
        )

    def first_mesh(self, *, perhaps: bool = False) -> AnyStep | None:
        """The first mesh of GPUs: made by name, or by the first ``fully_shard`` of an NCCL job.

        ``perhaps``: also of one whose group was given no backend, which has NCCL where there are GPUs.
        """
        machine = self.program.machine
        for step in self.program.trace.steps:
            if isinstance(step.what, events.Mesh) and device_kind(machine, step.what.device) == "cuda":
                return step
            if isinstance(step.what, events.Sharded) and "mesh" not in step.what.options and self._nccl(perhaps):
                return step
        return None

    def _nccl(self, perhaps: bool) -> bool:
        backends = [step.what.backend or Const(None) for step in self.program.trace.of(events.ProcessGroup)]
        names = [each.value for each in backends if isinstance(each, Const)]
        return any(perhaps if name is None else "nccl" in str(name) for name in names)


class StaticDevice(AtStep[events.DeviceSet | events.DeviceIndex]):
    @property
    def name(self) -> str:
        return self.step.what.name if isinstance(self.step.what, events.DeviceSet) else "the device"

    def from_global_rank(self) -> Answer[Site | None]:
        index = self.step.what.index
        if index is None or isinstance(self.step.what, events.DeviceSet) and self.step.what.told:
            return self.program.excluded("the device is named in another way")
        found = [leaf for guard, leaf in self.program.machine.alternatives(index) if self.step.guard.compatible(guard)]
        ranks = [leaf for leaf in found if isinstance(leaf, Rank)]
        if ranks and len(ranks) == len(found) and {leaf.kind for leaf in ranks} == {"global"}:
            if by_first_of_all(self.step.guard):
                return self.program.excluded("rank 0 alone comes here, whose device has this number as well")
            if on_one_machine(self.program, self.step):
                return self.program.excluded(
                    "the processes meet at localhost, or the script starts them itself: all run on one machine"
                )
            return yes(ranks[0].at)
        if ranks or found and all(isinstance(leaf, Const) for leaf in found):
            return self.program.excluded("the index is not the global rank")
        return unknown("where the device index comes from is not known")

    def touched_before(self) -> Answer[tuple[Moment, str]]:
        """Where a GPU was used before one was selected; unknown where unseen code may have selected one."""
        if not isinstance(self.step.what, events.DeviceSet):
            return self.program.excluded("a device is named here, and none is selected")
        if self.step.what.scoped:
            return self.program.excluded("the device is selected for a block only")
        if self._is_the_first():
            return self.program.excluded("it is the first of the devices, which is the current one before as well")
        process = StaticProcess(self.program)
        mesh = process.first_mesh(perhaps=True)
        late = process.mesh_on_current(before=self.step)
        if late is not None and self.program.seen_whole:
            return unknown(self.program.open_why) if self.program.open_why else yes(late)
        for touch in self.program.trace.of(events.DeviceTouch, before=self.step):
            if by_rank_zero(touch.guard):
                continue
            selected = any(
                step.index < touch.index for step in self.program.trace.of(events.DeviceSet, before=self.step)
            )
            if selected or mesh is not None and mesh.index < touch.index:
                return self.program.excluded("the device is selected by then")
            if self.program.partial or self.program.open_why:
                return unknown(self.program.open_why or "the code before was not seen")
            if not any(step.together(touch) for step in self.program.trace.of(events.Sharded)):
                return unknown("whether anything is sharded in this program is not known")
            return yes((touch.when, touch.what.how))
        if self.program.partial:
            return unknown("the code before was not seen")
        if (other := self._at_import()) is not None:
            return unknown(f"whether {other.when.at} runs before, as it does when its file is imported, is not known")
        return self.program.nowhere(events.DeviceTouch)

    def _at_import(self) -> AnyStep | None:
        """A use in the body of another file, which is run here when something of the file is asked for."""
        own = {self.step.when.at.path, *(site.path for site in self.step.when.stack)}
        touches = self.program.trace.of(events.DeviceTouch, after=self.step)
        return next((each for each in touches if not each.when.stack and each.when.at.path not in own), None)

    def _is_the_first(self) -> bool:
        """As where a launcher shows each process one device alone."""
        index, here = self.step.what.index, self.step.guard
        options = self.program.machine.alternatives(index) if index is not None else []
        return [leaf for path, leaf in options if here.compatible(path)] == [Const(0)]
