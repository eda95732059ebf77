"""In which dtype the parameters of a model are: how it is made, and what converts it later."""

from __future__ import annotations

from astroid import nodes

from .....vocab.declared import record
from .....vocab.finding import Moment
from ....domain import events
from ....domain.values import NONE, AbstractObject, Const, Ext, Obj, ParamV, Value, unknown
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import external
from ..launch.device import device_kind
from .precision import DTYPES, dtype_name

DEFAULT = "default"  # of torch, unless the program sets another
_IN_FORCE = Ext("torch"), "get_default_dtype()"  # where the default is kept; untouched, it says its own name
_UNTOUCHED = Ext("torch.get_default_dtype()")
SOME_DTYPE = "?"  # parameters, or some of them, get a dtype that is not followed
_BY_NAME = {"bfloat16": "bfloat16", "half": "float16", "float": "float32", "double": "float64"}


@record
class LayerDtype:
    """The dtype in which a layer is made, where its call may say one; None where that is not known."""

    name: str | None


@record
class LoadedIn:
    """The dtype in which a library is asked to make a model; None: in that of its checkpoint, perhaps."""

    dtype: Value | None
    made: Moment


def converted(machine: Machine, obj: Obj, name: str, call: Call) -> None:
    """``model.to(torch.bfloat16)``, ``model.half()``. What a forward converts is data."""
    if not _is_module(obj) and _names_dtype(machine, name, call):
        machine.libraries.cast_tensors.add(obj)
        if _is_tensor(obj) and obj.atom.state(LayerDtype) is not None:
            obj.atom.know(LayerDtype(None))
    if machine.libraries.inside or _is_tensor(obj):
        return
    if (dtype := _BY_NAME.get(name, "")) or name not in ("to", "type"):
        if dtype:
            machine.emit(events.Cast(dtype=dtype), call.node, obj)
        return
    for value in _no_devices(call):
        for guard, leaf in machine.alternatives(value):
            dtype = dtype_name(leaf) or (SOME_DTYPE if _may_be_dtype(machine, leaf) else "")
            if dtype and (path := machine.guard.join(guard)) is not None:
                with machine.on_path(path):
                    machine.emit(events.Cast(dtype=dtype), call.node, obj)


def _no_devices(call: Call) -> list[Value]:
    return [*call.args, *(value for name, value in call.kwargs.items() if name != "device")]


def _perhaps_dtype(machine: Machine, call: Call) -> bool:
    """May an argument be a dtype that is not known? Devices are known as such by what made them."""
    leaves = [leaf for value in _no_devices(call) for _, leaf in machine.alternatives(value)]
    return any(_may_be_dtype(machine, leaf) and not dtype_name(leaf) for leaf in leaves)


def _may_be_dtype(machine: Machine, leaf: Value) -> bool:
    if isinstance(leaf, Ext):
        return not machine.libraries.harmless(leaf.qname)
    return isinstance(leaf, Obj) and not device_kind(machine, leaf)


def _is_module(obj: Obj) -> bool:
    return bool(obj.atom.module) and not any(isinstance(item, tuple) for item in obj.path)


def _is_tensor(obj: Obj) -> bool:
    """What a function of torch, or an operator, has made."""
    origin = obj.atom.origin
    return obj.atom.kind == "unknown" and (
        origin == "arithmetic" or origin.startswith("torch.") and ".nn." not in origin
    )


def _names_dtype(machine: Machine, name: str, call: Call) -> bool:
    """Not where something is only moved to a device."""
    if name not in ("to", "type"):
        return name in _BY_NAME
    return any(map(dtype_name, call.all)) or _perhaps_dtype(machine, call)


def of_layer(call: Call) -> str | None:
    """The dtype in which a layer is made; None where that is not known."""
    given = call.kwargs.get("dtype")
    return DEFAULT if given == NONE or given is None and not call.open_why else dtype_name(given) or None


def returned(machine: Machine, obj: Obj, value: Value) -> None:
    """What a module's forward gave: a later layer may get it."""
    if machine.libraries.any_sharded:
        for leaf in machine.objects(value):
            machine.libraries.outputs.setdefault(leaf, obj)


def parameter_converted(machine: Machine, leaf: ParamV, node: nodes.NodeNG) -> None:
    """One parameter, or a copy of it, gets a dtype: which ones do is not followed."""
    for model in machine.objects(leaf.model):
        machine.emit(events.Cast(dtype=SOME_DTYPE), node, model)


def mapped(machine: Machine, model: Obj, node: nodes.NodeNG) -> None:
    """Its tensors are exchanged for what a function made of them: of any dtype, on any device."""
    machine.emit(events.Cast(dtype=SOME_DTYPE), node, model)
    machine.emit(events.Moved(to=events.SOMEWHERE), node, model)


def loaded_in(machine: Machine, atom: AbstractObject, qname: str, call: Call) -> None:
    """``from_pretrained(..., torch_dtype=torch.bfloat16)``: the dtype in which a library makes a model.

    Where none is asked for, transformers before 5 makes float32 of what the checkpoint holds.
    """
    dtype = call.kwargs.get("torch_dtype") or call.kwargs.get("dtype")
    if dtype is not None:
        atom.know(LoadedIn(dtype, machine.moment(call.node)))
    elif qname.startswith("transformers.") and qname.endswith(".from_pretrained"):
        if call.open_why or not machine.project.transformers_before_5(machine.site(call.node).path):
            atom.know(LoadedIn(None, machine.moment(call.node)))


def literal_dtype(value: Value) -> str:
    """Of a dtype, or of its name in a string, as Hugging Face takes it."""
    if isinstance(value, Const) and isinstance(value.value, str):
        name = value.value.removeprefix("torch.")
        return name if name in DTYPES else ""
    return dtype_name(value)


@external("torch.set_default_dtype", "torch.set_default_tensor_type")
def set_default(machine: Machine, call: Call) -> Value:
    given = call.arg(0, "d") or NONE
    machine.emit(events.DefaultDtype(dtype=dtype_name(given) or SOME_DTYPE), call.node)
    machine.store.put(_IN_FORCE, given)
    return NONE


@external("torch.get_default_dtype")
def get_default(machine: Machine, call: Call) -> Value:
    return machine.over(_in_force(machine), lambda leaf: Ext("torch.float32") if leaf == _UNTOUCHED else leaf)


def _in_force(machine: Machine) -> Value:
    found: Value = machine.store.get(_IN_FORCE, _UNTOUCHED)
    return found


def built(machine: Machine, obj: Obj, node: nodes.NodeNG) -> None:
    """A module of the project is made while another dtype than float32 is the default."""
    if not obj.atom.module or next(machine.trace.of(events.DefaultDtype), None) is None:
        return
    for path, leaf in machine.alternatives(_in_force(machine)):
        default = "float32" if leaf == _UNTOUCHED else dtype_name(leaf) or SOME_DTYPE
        if default != "float32" and (joined := machine.guard.join(path)) is not None:
            with machine.on_path(joined):
                machine.emit(events.Cast(dtype=default), node, obj)


@external("diffusers.training_utils.cast_training_params")
def cast_training_params(machine: Machine, call: Call) -> Value:
    for leaf in machine.inside(call.arg(0, "model") or NONE):
        if isinstance(leaf, Obj):
            machine.emit(events.Cast(dtype=SOME_DTYPE), call.node, leaf)
    return unknown("cast_training_params()")
