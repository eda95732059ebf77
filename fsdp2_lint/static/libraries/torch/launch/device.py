"""Devices: which GPU a rank selects, and what touches "the current device"."""

from __future__ import annotations

from astroid import nodes

from .....vocab.declared import record
from ....domain import events
from ....domain.choices import choose
from ....domain.values import NONE, AbstractObject, Const, Ext, GuardedUnion, Obj, Rank, Text, Value, unknown
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external
from ..precision.precision import dtype_name

_BACKENDS = ("cuda", "npu", "xpu", "hpu", "musa", "mlu")
SETTERS = tuple(f"torch.{name}.set_device" for name in _BACKENDS) + (
    "torch.accelerator.set_device_index",
    "torch.accelerator.set_device_idx",
    "torch_npu.npu.set_device",
)
MANAGERS = ("torch.accelerator.device_index", *(f"torch.{name}.device" for name in _BACKENDS))


# What a machine has stays so for as long as a program runs: each call is the same question.
_OF_THE_MACHINE = (
    *(
        f"torch.{name}.{asked}"
        for name in (*_BACKENDS, "mps", "accelerator")
        for asked in ("is_available", "device_count")
    ),
    "torch.backends.mps.is_available",
    "torch.cuda.is_bf16_supported",
    "torch.distributed.is_nccl_available",
)


@record
class Device:
    """``torch.device(kind, index)``; without an ``index`` it is in the kind, or it is the current one."""

    kind: Value
    index: Value | None


@record
class DeviceManager:
    """A context in which another device is the current one; None: that of a device without an index."""

    index: Value | None


@external(*SETTERS)
def set_device(machine: Machine, call: Call) -> Value:
    name, value = call.name, call.arg(0, "device")
    told = isinstance(value, Obj) and value.atom.state(Device) is not None  # its index was seen where it was made
    machine.emit(events.DeviceSet(name=name, index=device_index(machine, value), scoped=False, told=told), call.node)
    return NONE


@external(*_OF_THE_MACHINE)
def of_the_machine(machine: Machine, call: Call) -> Value:
    if call.all or call.open_why:
        return machine.libraries.call_other(call.name, call)
    if call.name not in machine.of_the_machine:
        machine.of_the_machine[call.name] = machine.libraries.call_other(call.name, call)
    return machine.of_the_machine[call.name]


@external(*MANAGERS)
def device_manager(machine: Machine, call: Call) -> Value:
    atom = AbstractObject("external", cls=Ext(call.name), origin=call.name)
    atom.know(DeviceManager(device_index(machine, call.arg(0, "device"))))
    return atom.root


@external("torch.device")
def make_device(machine: Machine, call: Call) -> Value:
    def one(kind: Value) -> Value:
        atom = AbstractObject("external", cls=Ext("torch.device"), origin="torch.device")
        atom.know(Device(kind, call.arg(1, "index")))
        if device_kind(machine, atom.root) == "cuda" and not _thrown_away(call.node):
            note_index(machine, call.node, device_index(machine, atom.root))
        return atom.root

    return machine.over(call.arg(0, "type") or call.arg(0, "device") or NONE, one)


def _thrown_away(node: nodes.NodeNG) -> bool:
    """Is it bound to a name that the function never reads?"""
    target = node.parent.targets[0] if isinstance(node.parent, nodes.Assign) else None
    if not isinstance(target, nodes.AssignName) or not isinstance(node.scope(), nodes.FunctionDef):
        return False
    return all(name.name != target.name for name in node.scope().nodes_of_class(nodes.Name))


def device_kind(machine: Machine, value: Value | None) -> str:
    """ "cuda", "other" or "" (cannot tell), of a string, a ``torch.device`` or a setting."""
    if isinstance(value, Const):
        if isinstance(value.value, str):
            return "cuda" if value.value.split(":")[0] == "cuda" else "other"
        return "cuda" if isinstance(value.value, int) else ""
    if isinstance(value, Rank):
        return "cuda"
    if isinstance(value, Text):
        return "cuda" if value.hint.startswith("cuda") else ""
    if isinstance(value, Obj):
        known = value.atom.state(Device) if value.parent is None else None
        if known is not None:
            return device_kind(machine, known.kind)
        default = machine.libraries.default_of(value)
        return device_kind(machine, default) if default is not None else ""
    return ""


def device_of(value: Value) -> Value | None:
    """What a ``torch.device`` was made of, or what is no object of one; None for other objects."""
    if not isinstance(value, Obj) or value.parent is not None:
        return value
    known = value.atom.state(Device)
    return known.kind if known is not None else None


def device_index(machine: Machine, value: Value | None) -> Value | None:
    """The index in a device: None if it has none (the current device)."""
    if isinstance(value, GuardedUnion):
        found = [(path, device_index(machine, leaf)) for path, leaf in machine.alternatives(value)]
        known = [(path, index) for path, index in found if index is not None]
        return choose(known) if known else None
    if isinstance(value, Const):
        if isinstance(value.value, str):
            _, _, index = value.value.partition(":")
            return Const(int(index)) if index.isdigit() else None
        return value
    if isinstance(value, Text):
        return _rank_of(machine, value)
    made = value.atom.state(Device) if isinstance(value, Obj) and value.parent is None else None
    if made is not None:
        return made.index if made.index is not None else device_index(machine, made.kind)
    if isinstance(value, Obj) and machine.libraries.default_of(value) is not None:
        return device_index(machine, machine.libraries.default_of(value))
    return value


def _rank_of(machine: Machine, text: Text) -> Value | None:
    return text.source if text.source is not None else unknown("a computed device") if ":" in text.hint else None


def touch(machine: Machine, node: nodes.NodeNG, device: Value | None) -> None:
    """Something is put on ``device``; matters if that is CUDA."""
    if device is None:
        return
    for guard, leaf in machine.alternatives(device):
        if isinstance(leaf, GuardedUnion) or device_kind(machine, leaf) != "cuda":
            continue
        with machine.on_path(machine.guard.join(guard) or machine.guard):
            index = device_index(machine, leaf)
            if index is None:
                machine.emit(events.DeviceTouch(how='"cuda" without an index'), node)
                continue
            machine.emit(events.DeviceStarted(index=index), node)
            if not isinstance(leaf, Obj):
                note_index(machine, node, index)


def placed(machine: Machine, obj: Obj, device: Value | None, node: nodes.NodeNG) -> None:
    """A module, or what may be one, is moved as a whole."""
    if device is None or _is_returned(obj):
        return
    for guard, leaf in machine.alternatives(device):
        path = machine.guard.join(guard)
        if path is not None and leaf != NONE and not dtype_name(leaf):
            with machine.on_path(path):
                machine.emit(events.Moved(to=device_kind(machine, leaf) or events.SOMEWHERE), node, obj)


def _is_returned(obj: Obj) -> bool:
    """What a call returned, most often a tensor."""
    return any(isinstance(item, tuple) for item in obj.path)


def note_index(machine: Machine, node: nodes.NodeNG, index: Value | None) -> None:
    if index is not None:
        machine.emit(events.DeviceIndex(index=index), node)


def discarded(machine: Machine, node: nodes.Expr, value: Value) -> None:
    """A device context manager as a bare statement selects nothing."""
    if (
        isinstance(value, Obj)
        and value.parent is None
        and value.atom.state(DeviceManager) is not None
        and isinstance(node.value, nodes.Call)
    ):
        machine.emit(events.DeviceDiscarded(name=value.atom.origin), node.value)
