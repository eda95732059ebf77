"""Process groups and meshes in the hands of code that may split with them what a model computes over the ranks."""

from __future__ import annotations

from typing import Any

from .....vocab.declared import record
from ....budget import BUDGET
from ....domain import events
from ....domain.formulas import Formula, intern
from ....domain.store import Entries, Items
from ....domain.values import Ext, ListV, Obj, Partial, Rank, Value, is_call
from ....frontend.packages import is_of_python
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import observer

_WHOLE_JOB = frozenset({"torch.distributed.group.WORLD", "torch.distributed.GroupMember.WORLD"})
_MAKERS = frozenset(
    f"torch.distributed.{name}"
    for name in "new_subgroups new_subgroups_by_enumeration split_group distributed_c10d._get_default_group".split()
)
_EXPERIMENTAL = "torch.distributed.tensor.experimental."
_OF_A_MESH = frozenset({"get_group", "get_all_groups", "_flatten"})  # methods that give a group, or a mesh
# After these the ranks have different tensors, where all had the same before; after the others of torch they have not.
_SPLIT = frozenset(
    """scatter scatter_tensor reduce_scatter reduce_scatter_tensor reduce_scatter_tensor_autograd all_to_all
    all_to_all_single all_to_all_single_autograd distribute_tensor send recv isend irecv batch_isend_irecv""".split()
)


@record
class Group:
    """A process group that the program makes: of the whole job, or of ranks that it names.

    ``members``: what holds for a rank that belongs to it. ``listed``: the list that names them, as it was by then.
    """

    whole: bool
    members: Formula = True
    listed: tuple[ListV, Items] | None = None


def made_of(machine: Machine, ranks: Value) -> Group:
    listed = (ranks, machine.items(ranks)) if isinstance(ranks, ListV) else None
    return Group(False, intern(machine.contained(Rank("global"), ranks)), listed)


def belongs_to(machine: Machine, group: Value | None, formula: Formula, truth: bool) -> bool:
    """Does a condition ask just this, whether the rank belongs to the group?"""
    known = group.atom.state(Group) if isinstance(group, Obj) else None
    if known is None or not truth or intern(formula) is not known.members:
        return False
    return known.listed is None or machine.items(known.listed[0]) == known.listed[1]


@observer
def splits(machine: Machine, qname: str, call: Call) -> None:
    """torch's own context of context parallelism, or a forward that exchanges parts of tensors or hands a group on."""
    name = qname.rpartition(".")[2]
    if qname.startswith(_EXPERIMENTAL) and name == "context_parallel":
        machine.emit(events.InputSplit(why=f"{name}() is entered"), call.node)
    elif machine.libraries.inside and not is_of_python(qname):
        if name in _SPLIT if qname.startswith("torch.distributed.") else _handed(machine, call):
            machine.emit(events.InputSplit(why=f"{name}() in a forward"), call.node)


def given(machine: Machine, who: str, call: Call) -> None:
    """Code that was not followed may keep what it gets, or pass it on: to a model, or to what a forward asks."""
    if _handed(machine, call):
        machine.emit(events.InputSplit(why=f"{who} gets a process group"), call.node)


def _handed(machine: Machine, call: Call) -> bool:
    return holds_group(machine, *call.all)


def holds_group(machine: Machine, *values: Value) -> bool:
    """Is one a process group or a mesh, or a container or a record with one in it?"""
    seen: set[Value] = set()  # records may hold each other, many times over
    level = list(values)
    for _ in range(BUDGET.reach + 1):
        inside = [leaf for value in level for leaf in machine.inside(value)]
        leaves = [leaf for leaf in dict.fromkeys(inside) if leaf not in seen]
        if any(map(_is_group, leaves)):
            return True
        seen.update(leaves)
        if not (level := [part for leaf in leaves for part in _parts(machine, leaf)]):
            break
    return False


def _parts(machine: Machine, leaf: Value) -> list[Value]:
    """What comes along with it. With a module no other group comes than those that it has anyway."""
    if isinstance(leaf, Partial):
        return [*leaf.args, *(value for _, value in leaf.kwargs)]
    if not isinstance(leaf, Obj) or leaf.atom.kind != "instance" or leaf.atom.module:
        return []
    held = (machine.store.get((leaf, name)) for name in machine.store.fields.get(leaf, ()))
    return [value for value in held if value is not None and not isinstance(value, (Items, Entries))]


def _is_group(obj: Value) -> bool:
    if not isinstance(obj, Obj):
        return isinstance(obj, Ext) and obj.qname in _WHOLE_JOB
    if obj.atom.origin == "DeviceMesh":
        return all(map(_keeps_ranks, obj.path))
    return obj.atom.state(Group) is not None or obj.atom.origin in _MAKERS


def _keeps_ranks(item: Any) -> bool:
    """Does this step of a path lead from a mesh to a part of it, or to its group, and not to a number?"""
    return item.startswith("[") if isinstance(item, str) else is_call(item) and item[1] in _OF_A_MESH
