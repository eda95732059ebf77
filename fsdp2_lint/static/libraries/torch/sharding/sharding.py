"""``fully_shard`` and the methods of a sharded module."""

from __future__ import annotations

from astroid import nodes

from .....vocab.declared import record
from ....domain import events
from ....domain.path_conditions import PathCondition
from ....domain.values import NONE, AbstractObject, Const, Ext, ListV, Obj, TupleV, Value, unknown
from ....interpreter.call import Call
from ....interpreter.frames import Diverges
from ...interface import Machine
from ...tables import external, method
from ..launch import meshes
from ..launch.device import touch

FULLY_SHARD = "torch.distributed.fsdp.fully_shard"
_MESH = Ext("torch.distributed.device_mesh.DeviceMesh")


@record
class Gathering:
    """What ``unshard()`` returns; ``left_open``: somebody has to wait for it."""

    of: Obj
    left_open: bool


@external(FULLY_SHARD)
def fully_shard(machine: Machine, call: Call) -> Value:
    """In place; returns the very same object (a list comes back as the list)."""
    target = call.arg(0, "module")
    if target is None:
        return unknown("fully_shard()")
    if isinstance(target, Obj) and _is_no_module(machine, target):
        machine.stops += 1
        raise Diverges  # torch refuses it
    for guard, leaf in _built(machine.alternatives(target)):
        path = machine.guard.join(guard)
        if path is None:
            continue
        with machine.on_path(path):
            if isinstance(leaf, (ListV, TupleV)):
                held = machine.listing(leaf)
                group = tuple(item for _, item in held.items if isinstance(item, Obj))
                open_why = held.open_why or ("" if group else "the list of modules was not followed")
                shard(machine, call, group, listed=True, open_why=open_why)
            elif isinstance(leaf, Obj) and not _is_no_module(machine, leaf):
                shard(machine, call, (leaf,), listed=False)
    return target


def _built(possible: list[tuple[PathCondition, Value]]) -> list[tuple[PathCondition, Value]]:
    """Without the settings that a builder hands on where it cannot build anything of them: ``build(config.net)``."""
    found = [(path, leaf) for path, leaf in possible if not _is_setting(leaf)]
    return found or possible


def _is_setting(value: Value) -> bool:
    """Is it a field of what a caller gave, or of a configuration, in which nobody was seen to put a module?"""
    return isinstance(value, Obj) and value.parent is not None and value.atom.kind in ("configuration", "parameter")


def _is_no_module(machine: Machine, obj: Obj) -> bool:
    """Is it surely none: a mesh, settings, or an object of a class that was seen and derives from no module?"""
    cls = machine.class_of(obj)
    if obj.parent is not None or obj.atom.module:
        return False
    if cls is not None:
        listed = any(machine.find_attr(obj, name) is not None for name in ("__iter__", "__getitem__"))
        return obj.atom.kind == "instance" and machine.closed_class(cls) and not listed
    return obj.atom.cls == _MESH or obj.atom.settings


def shard(machine: Machine, call: Call, group: tuple[Obj, ...], *, listed: bool, open_why: str = "") -> None:
    """``fully_shard``: the modules of one group, and what it returns."""
    for obj in group:
        machine.libraries.sharded_atoms.add(machine.libraries.address(obj)[0])
    machine.libraries.any_sharded = True
    machine.emit(
        events.Sharded(
            group=group,
            listed=listed,
            looped=machine.loops > 0,
            open_why=open_why,
            options={name: value for name, value in call.kwargs.items() if name != "module"},
            keywords=keyword_sites(machine, call),
            options_open=call.open_why,
            filtered=False,  # seen when all of them are (``static.filters``)
        ),
        call.node,
        group[0] if group else None,
    )


def keyword_sites(machine: Machine, call: Call) -> dict[str, nodes.NodeNG]:
    """Where each keyword stands: in the call itself, else the call stands for it."""
    written = {keyword.arg: keyword.value for keyword in getattr(call.node, "keywords", ())}
    return {name: written.get(name, call.node) for name in call.kwargs}


@external("torch.distributed.fsdp.register_fsdp_forward_method")
def register_forward(machine: Machine, call: Call) -> Value:
    name = call.arg(1, "method_name")
    for leaf in machine.objects(call.arg(0, "module")):
        in_vain = machine.libraries.is_sharded_formula(leaf) is False
        known = name.value if isinstance(name, Const) else None
        machine.emit(events.Registered(method=known, in_vain=in_vain), call.node, leaf)
    return NONE


@method("unshard", "reshard")
def gather(machine: Machine, obj: Obj, call: Call) -> Value:
    name = call.name
    machine.emit(events.Unshard() if name == "unshard" else events.Reshard(), call.node, obj)
    handle = unknown(name)
    if name == "unshard":
        handle.atom.know(Gathering(obj, left_open=call.arg(0, "async_op") == Const(True)))
    return handle


@external(
    "torch.distributed.fsdp.FullyShardedDataParallel.summon_full_params",
    "torch.distributed.fsdp.FullyShardedDataParallel.state_dict_type",
    "torch.distributed.fsdp.FullyShardedDataParallel.set_state_dict_type",
    "torch.distributed.fsdp.FullyShardedDataParallel.get_state_dict_type",
    "torch.distributed.fsdp.FullyShardedDataParallel.optim_state_dict",
    "torch.distributed.fsdp.FullyShardedDataParallel.optim_state_dict_to_load",
    "torch.distributed.fsdp.FullyShardedDataParallel.full_optim_state_dict",
    "torch.distributed.fsdp.FullyShardedDataParallel.sharded_optim_state_dict",
    "torch.distributed.fsdp.FullyShardedDataParallel.shard_full_optim_state_dict",
    "torch.distributed.fsdp.FullyShardedDataParallel.scatter_full_optim_state_dict",
    "torch.distributed.fsdp.FullyShardedDataParallel.rekey_optim_state_dict",
)
def fsdp1_context(machine: Machine, call: Call) -> Value:
    name = call.name.rsplit(".", 1)[-1]
    for leaf in machine.objects(call.arg(0, "module") or call.arg(None, "model")):
        machine.emit(events.Fsdp1Context(name=name), call.node, leaf)
    return unknown(f"FSDP.{name}()")


@external("torch.distributed.device_mesh.init_device_mesh", "torch.distributed.device_mesh.DeviceMesh")
def make_mesh(machine: Machine, call: Call) -> Value:
    atom = AbstractObject(
        "external",
        cls=_MESH,
        origin="DeviceMesh",
        site=machine.site(call.node),
    )
    kind = call.arg(0, "device_type")
    if (mesh := meshes.written(machine, call)) is not None:
        atom.know(mesh)
    machine.emit(events.Mesh(device=kind, shape=call.arg(1, "mesh_shape")), call.node, atom.root)
    return atom.root


@external("torch.distributed.init_process_group")
def init_process_group(machine: Machine, call: Call) -> Value:
    device, method = call.arg(None, "device_id"), call.arg(1, "init_method")
    made = events.ProcessGroup(
        backend=call.arg(0, "backend"),
        device_id=device,
        world_size=call.arg(3, "world_size"),
        address=machine.store.get((Ext("os.environ"), "MASTER_ADDR"))
        if method in (None, NONE, Const("env://"))
        else method,
    )
    machine.emit(made, call.node)
    told = method, call.arg(4, "rank"), call.arg(5, "store")
    machine.libraries.launched |= all(value in (None, NONE, Const("env://"), Const(-1)) for value in told)
    if device is not None and device != NONE:
        touch(machine, call.node, device)
    return NONE
