"""The keywords of one call of ``fully_shard``."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Moment, Place
from ....vocab.meshes import misread, says_replicas, says_shards, says_stages, whole
from ...domain import events
from ...domain.events import Step
from ...domain.relations import Relation
from ...domain.values import Const, Obj, Value
from ...libraries.torch.launch.meshes import Mesh, dimensions, possible
from ..shared.closure import excluded
from ..shared.program import OfStep, Program


class StaticOptions(OfStep[events.Sharded]):
    def refused(self) -> Answer[Place]:
        if "dp_mesh_dims" in self.step.what.options or self.step.what.options_open:
            return unknown("which dimensions the mesh has for fully_shard is not known")
        if wrong := self._why_refused():
            if any(each._why_refused() for each in self._earlier()):
                return self.program.excluded("an earlier call is refused for it")
            return yes(wrong)
        return self._checked("the dimensions of the mesh are not written in the source")

    def _why_refused(self) -> Place | None:
        for value, mesh in self._meshes():
            if why := _wrong_dimensions(mesh):
                return Place(self.made(value), why)
        return self._wrong_number()

    def _earlier(self) -> Iterator[StaticOptions]:
        """The calls before this one: where one of them is refused, this one is never reached."""
        for step in self.program.trace.of(events.Sharded, before=self.step):
            yield StaticOptions(self.program, step, self.obj)

    def misread(self) -> Answer[Place]:
        for value, mesh in self._meshes():
            if said := self._misread(mesh):
                if any(value == other for each in self._earlier() for other, _ in each._meshes()):
                    return self.program.excluded("it is reported at the first call")
                return yes(Place(self.made(value), said))
        if names := next((mesh.names for _, mesh in self._meshes() if not _says_what_for(mesh)), None):
            return unknown(f"whether {names[0]!r} replicates and {names[1]!r} shards is not known")
        return self._checked("the names of the mesh's dimensions are not known")

    def _misread(self, mesh: Mesh) -> str:
        """Where the first dimension is known to have one rank, nothing is copied over it."""
        if not mesh.names or len(mesh.names) != 2 or mesh.sizes[0] == 1:
            return ""
        if says_stages(mesh.names[0]) and any(self.program.trace.of(events.Pipelined)):
            return whole(*mesh.names)
        return misread(*mesh.names)

    def _checked(self, why: str) -> Answer[Place]:
        return self.program.excluded("the mesh of this call is known") if self._all_known() else unknown(why)

    def _meshes(self) -> Iterator[tuple[Value, Mesh]]:
        for value in possible(self.step.what.options.get("mesh"), self.step.guard):
            if (mesh := dimensions(value)) is not None:
                yield value, mesh

    def _all_known(self) -> bool:
        given = possible(self.step.what.options.get("mesh"), self.step.guard)
        return all(dimensions(value) is not None or value == Const(None) for value in given)

    def made(self, value: Value) -> Moment:
        made = self.program.trace.of(events.Mesh)
        root = value.atom.root if isinstance(value, Obj) else None
        return next((step.when for step in made if step.subject is root), self.step.when)

    def _wrong_number(self) -> Place | None:
        """A number of ranks to reshard to that cannot be one."""
        for value in possible(self.step.what.options.get("reshard_after_forward"), self.step.guard):
            if not isinstance(value, Const) or type(value.value) is not int:
                continue
            if value.value < 1:
                return Place(self.step.when, f"reshard_after_forward={value.value} is no number of ranks")
            for mesh_value, mesh in self._meshes():
                size = mesh.sizes[-1]
                if size is not None and size % value.value:
                    words = (
                        f"reshard_after_forward={value.value} is no divisor of the {size} ranks that share a parameter"
                    )
                    return Place(self.made(mesh_value), words)
        return None


def has_replicas(sharding: Step[events.Sharded]) -> Answer[object]:
    """Is its mesh one of several replicas?"""
    mesh = sharding.what.options.get("mesh")
    if mesh is None:
        return (
            unknown("the mesh was not seen") if sharding.what.options_open else excluded("the mesh has one dimension")
        )
    known = dimensions(mesh)
    if known is None or len(known.sizes) not in (1, 2):
        return unknown("the shape of the mesh is not known")
    return yes(True) if len(known.sizes) == 2 else excluded("the mesh has one dimension")


def in_replicas(program: Program, model: Obj) -> Answer[object]:
    """Is a part of the model on a mesh of several replicas?"""
    units = program.units(model, Relation.SAME, Relation.CONTAINS)
    answers = sorted((has_replicas(step) for step, _ in units), key=lambda each: not each.surely)
    return next((each for each in answers if each.possibly), excluded("no mesh has replicas"))


def _wrong_dimensions(mesh: Mesh) -> str:
    if len(mesh.sizes) > 2:
        return f"the mesh has {len(mesh.sizes)} dimensions, and fully_shard takes one or two"
    if len(mesh.sizes) == 2 and mesh.names == ():
        return "the mesh has two dimensions and no mesh_dim_names"
    return ""


def _says_what_for(mesh: Mesh) -> bool:
    """Do the names of two dimensions say which of them replicates, or shards? One dimension only shards."""
    return mesh.names is None or len(mesh.names) != 2 or says_replicas(mesh.names[0]) or says_shards(mesh.names[1])
