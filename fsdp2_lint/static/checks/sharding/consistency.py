"""The keywords of one call of ``fully_shard`` next to those of the other calls on its model."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ....vocab.answers import Answer, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Place
from ....vocab.meshes import says_replicas
from ...domain import events
from ...domain.events import Step
from ...domain.path_conditions import PathCondition
from ...domain.relations import Relation
from ...domain.values import EACH, NONE, Const, Obj, Value, is_call, is_each
from ...libraries.torch.launch.meshes import dimensions, wanted_names
from ..precision.dtype_flow import clash
from ..shared.conditions import objects_in
from ..shared.models import StaticModel
from ..shared.program import OfStep
from ..shared.structure import perhaps_experts
from .options import StaticOptions
from .resharding import given

_HARMLESS = ("get_local_rank", "get_rank", "size", "get_coordinate")  # these ask a mesh, and exchange nothing
_SAYS_ITSELF = ("shape", "ndim", "mesh_dim_names", "device_type")  # likewise, without a call


@record
class StaticPolicy(OfStep[events.Sharded]):
    root: Obj
    steps: tuple[Step[events.Sharded], ...]  # all calls on the model

    def other_precision(self) -> Answer[Place]:
        return clash(self.program, self.step, self.steps)

    def other_offloading(self) -> Answer[Place]:
        return self._otherwise("offload_policy", _offloads_otherwise)

    def other_mesh(self) -> Answer[Place]:
        found = self._otherwise("mesh", lambda theirs, mine: "" if _differ(theirs, mine) else None)
        why = (self._mesh_not_known() or self._mesh_apart()) if not found else ""
        return unknown(why) if why else found

    def _mesh_not_known(self) -> str:
        for block in self._blocks():
            if self._gets_the_same(block, "mesh") or self._is_all(block):
                continue
            for step in (block, self.step):
                if any(isinstance(value, Obj) and dimensions(value) is None for _, value in given(step, "mesh")):
                    return f"which mesh {step.when.at} gets is not known"
        return ""

    def _mesh_apart(self) -> str:
        """A part beside the blocks, such as a tower or a head, may be meant to have another mesh than the model."""
        if self.program.relation(self.root, self.obj) is not Relation.SAME:
            return ""
        for step in self.steps:
            for there, theirs in given(step, "mesh"):
                for here, mine in given(self.step, "mesh"):
                    if _differ(theirs, mine) and self._meet(there, here):
                        return f"whether {step.when.at} is to have a mesh of its own is not known"
        return ""

    def _otherwise(self, keyword: str, differ: Callable[[Value | None, Value | None], str | None]) -> Answer[Place]:
        """A block that gets another value. ``differ`` says in words what theirs comes to; None: to the same as ours."""
        for block in self._blocks():
            if block.what.options_open or self.step.what.options_open:
                return unknown("which keywords fully_shard gets is not known")
            if self._gets_the_same(block, keyword) or self._is_all(block):
                continue
            for there, theirs in given(block, keyword):
                for here, mine in given(self.step, keyword):
                    words = differ(theirs, mine)
                    if words is not None and self._meet(there, here):
                        return self._told(block, words)
        return self._all_calls()

    def _blocks(self) -> Iterator[Step[events.Sharded]]:
        """Calls on the blocks, for the root: towers, heads and experts may be treated in a way of their own."""
        if self.program.relation(self.root, self.obj) is Relation.SAME:
            yield from (step for step in self.steps if any(self._is_block(part) for part in step.what.group))

    def _gets_the_same(self, other: Step[events.Sharded], keyword: str) -> bool:
        """One value, whatever it depends on: then no condition needs to be weighed."""
        return bool(self.step.what.options.get(keyword) == other.what.options.get(keyword))

    def _meet(self, there: PathCondition, here: PathCondition) -> bool:
        return there.compatible(here) and not (there.blurred or here.blurred)

    def _all_calls(self) -> Answer[Place]:
        return self.program.nothing(self.root, events.Sharded)

    def _is_block(self, part: Obj) -> bool:
        """One of a stack of blocks; experts are in a stack of their own, further down, and have their own mesh."""
        path = self.program.address(part)[1][len(self.program.address(self.root)[1]) :]
        indices = [item for item in path if isinstance(item, str) and item.startswith("[")]
        return len(indices) == 1 and is_each(path[-1])

    def _is_all(self, block: Step[events.Sharded]) -> bool:
        """Is it each module of a container that is the root itself? Then nothing is left for the group of the root."""
        depth = len(self.program.address(self.root)[1])
        return all(self.program.address(part)[1][depth:] == (EACH,) for part in block.what.group)

    def _told(self, block: Step[events.Sharded], words: str) -> Answer[Place]:
        """A block that is treated otherwise. What calls itself experts may be meant so."""
        if any(map(self._may_be_experts, block.what.group)):
            return unknown(f"whether {block.when.at} shards experts, which have a plan of their own, is not known")
        return yes(Place(block.when, words))

    def _may_be_experts(self, part: Obj) -> bool:
        return perhaps_experts(self.program.address(part)[1])

    def replicas_forgotten(self) -> Answer[Place]:
        trained = StaticModel(self.program, self.root).trained()
        if not trained.surely:
            return trained.denied()  # replicas that nobody trains stay equal
        for path, value in given(self.step, "mesh"):
            name = self._forgotten(value) if isinstance(value, Obj) else ""
            if name and isinstance(value, Obj) and self._asks_sizes(value, path):
                return unknown(f"whether there are replicas where {self.step.when.at} gets this part is not known")
            if name and isinstance(value, Obj) and any(map(self._may_be_experts, self.step.what.group)):
                return unknown("whether these are experts, which have a mesh of their own, is not known")
            if name and isinstance(value, Obj):
                return yes(Place(StaticOptions(self.program, self.step, self.obj).made(value), repr(name)))
            if isinstance(value, Obj) and wanted_names(value.item) and dimensions(value.atom.root) is None:
                return unknown(f"of which mesh {self.step.when.at} gets a part is not known")
        return self.program.nothing(self.root, events.Sharded, events.Mesh)

    def _forgotten(self, value: Obj) -> str:
        """The name of a dimension of replicas that the mesh has and this slice of it leaves out."""
        whole = dimensions(value.atom.root)
        names = wanted_names(value.item)
        if whole is None or not whole.names or len(names) != 1 or value.parent is not value.atom.root:
            return ""
        others = [name for name in whole.names if says_replicas(name)]
        if len(others) != 1 or others[0] in names or names[0] not in whole.names:
            return ""
        if whole.sizes[whole.names.index(others[0])] == 1 or self._used(value.atom.root, others[0], value):
            return ""
        return others[0]

    def _asks_sizes(self, part: Obj, path: PathCondition) -> bool:
        """``mesh if mesh.size(0) > 1 else mesh["shard"]``, or by the number that the mesh was made with."""
        made = (step for step in self.program.trace.of(events.Mesh) if step.subject is part.atom.root)
        shapes = (step.what.shape for step in made)
        sizes = {leaf for each in shapes if each is not None for leaf in self.program.machine.inside(each)}
        asked = (obj for formula, _ in path.literals for obj in objects_in(formula))
        return any(obj.atom is part.atom or obj in sizes for obj in asked)

    def _used(self, mesh: Obj, name: str, mine: Obj) -> bool:
        """Does anything else take that dimension into account? Other groups of the model take care of their own."""
        others = self._with_replicas(mesh, name, mine)
        for step in self.program.trace.of(events.Sharded):
            for _, value in given(step, "mesh"):
                if isinstance(value, Obj) and value.atom is mesh.atom and value is not mine and value not in others:
                    return True
            if step.index < self.step.index and any(value is mine for _, value in given(step, "mesh")):
                return True  # it was told at the first call
        return any(_reads(child, name) for child in mesh._children.values() if child not in others)

    def _with_replicas(self, mesh: Obj, name: str, mine: Obj) -> list[Value | None]:
        """What other calls on the model get of the mesh, where that is the same dimension and the one of replicas."""
        whole = dimensions(mesh)
        wanted = (name, *wanted_names(mine.item))
        values = (value for step in self.steps for _, value in given(step, "mesh"))
        return [
            value
            for value in values
            if isinstance(value, Obj)
            and value.atom is mesh.atom
            and (wanted_names(value.item) or (value is mesh and whole is not None and whole.names)) == wanted
        ]


def _reads(at: Obj, name: str) -> bool:
    """Is a group, or a slice, of this dimension asked for?"""
    if _only_asks(at) or is_call(at.item):
        return not _only_asks(at)
    if name not in wanted_names(at.item):
        return wanted_names(at.item) == ()
    children = list(at._children.values())
    return not children or not all(map(_only_asks, children))


def _only_asks(at: Obj) -> bool:
    return at.item in _SAYS_ITSELF or is_call(at.item) and at.item[1] in _HARMLESS


def _offloads(value: Value | None) -> bool | None:
    if value is None or value == NONE:
        return False
    made = value.atom.origin if isinstance(value, Obj) and value.parent is None else ""
    return {"CPUOffloadPolicy": True, "OffloadPolicy": False}.get(made)


def _offloads_otherwise(theirs: Value | None, mine: Value | None) -> str | None:
    left, right = _offloads(theirs), _offloads(mine)
    if left is None or right is None or left == right:
        return None
    return "offloads" if left else "does not offload"


def _differ(one: Value | None, other: Value | None) -> bool:
    """Are these surely two meshes? None is that of the whole job."""
    left, right = dimensions(one) if one is not None else None, dimensions(other) if other is not None else None
    if one is other or one == other:
        return False
    if one in (None, Const(None)) or other in (None, Const(None)):
        known, value = (right, other) if one in (None, Const(None)) else (left, one)
        sliced = isinstance(value, Obj) and bool(wanted_names(value.item))
        return known is not None and (len(known.sizes) == 2 or sliced and _leaves_out(value))
    if left is None or right is None or max(len(left.sizes), len(right.sizes)) > 2:
        return False  # of more dimensions fully_shard takes none: that is another rule
    if len(left.sizes) != len(right.sizes):
        return True
    same = isinstance(one, Obj) and isinstance(other, Obj) and one.atom is other.atom
    return same and bool(left.names) and bool(right.names) and left.names != right.names


def _leaves_out(value: Value | None) -> bool:
    """Is it a slice that has fewer dimensions than its mesh, all of them with names?"""
    assert isinstance(value, Obj)
    whole = dimensions(value.atom.root)
    return whole is not None and bool(whole.names) and set(wanted_names(value.item)) < set(whole.names or ())
