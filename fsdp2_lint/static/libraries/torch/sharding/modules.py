"""``nn.Module``: children, calls, moves, and which module holds which."""

from __future__ import annotations

import re

from astroid import nodes

from ....domain import events
from ....domain.choices import choose
from ....domain.path_conditions import TRUE
from ....domain.store import Items
from ....domain.values import (
    BELOW,
    EACH,
    NONE,
    SOME,
    AbstractObject,
    Bound,
    ClassV,
    Const,
    DictV,
    Ext,
    Func,
    ListV,
    Obj,
    Params,
    Partial,
    Text,
    TupleV,
    Value,
    unknown,
)
from ....interpreter.call import Call
from ....interpreter.expressions.numbers import is_multiple
from ...interface import Machine
from ...tables import external, method
from ...words import describe
from ..checkpoints.key_prefixes import note_compiled
from ..initialisation import blank
from ..launch.device import device_index, device_kind, placed, touch
from ..precision import dtypes
from .module_tree import children, contents, descendants, was_loaded_by_library
from .sizes import Size

_ALIASES = (
    "to",
    "cuda",
    "cpu",
    "half",
    "float",
    "bfloat16",
    "double",
    "train",
    "eval",
    "requires_grad_",
    "type",
    "xpu",
    "npu",
    "share_memory",
)


@method("parameters", "named_parameters", "buffers", "named_buffers")
def parameters(machine: Machine, obj: Obj, call: Call) -> Value:
    name = call.name
    if name.endswith("buffers"):
        return obj.child(("()", name, ())) if blank.in_blank(machine, obj) else unknown("buffers")
    made = machine.emit(events.Generator(), call.node, obj)
    return Params(obj, named=name.startswith("named"), made=made.index)


@method("modules", "named_modules")
def modules(machine: Machine, obj: Obj, call: Call) -> Value:
    """Parents first. Of a model that was followed to its leaves, the modules themselves."""
    named = call.name == "named_modules"
    known = descendants(machine, obj)
    found: list[tuple[str, Value]] = list(known) if known is not None else [("", obj.child(BELOW))]
    return machine.new_list(
        [TupleV((_spelled(name, child, known is not None), child)) if named else child for name, child in found],
        exact=False,
    )


def _spelled(path: str, module: Value, known: bool) -> Value:
    """The name of a module as ``named_modules`` gives it; a text where it is not known.

    One that stands for several has that of the first or a later one: by what is asked of both the index counts or not.
    """
    if not known or SOME in path:
        return Text(False, path)
    first, later = (re.sub(r"\[\*\d*\]", index, path) for index in ("0", "11"))
    if first == later:
        return Const(_as_written(path))
    is_first = ("truth", ("is the first", module))
    paths = TRUE.add(is_first), TRUE.add(is_first, False)
    assert paths[0] is not None and paths[1] is not None
    return choose([(paths[0], Const(_as_written(first))), (paths[1], Const(_as_written(later)))])


def _as_written(path: str) -> str:
    return path.replace("['", "").replace("']", "").replace("[", "").replace("]", "")


@method("children", "named_children")
def module_children(machine: Machine, obj: Obj, call: Call) -> Value:
    named = call.name == "named_children"
    known = children(machine, obj)
    pairs = list(known) if known is not None else [("", obj.child(EACH))]
    return machine.new_list(
        [TupleV((Const(name) if name else Text(False), child)) if named else child for name, child in pairs],
        exact=False,
    )


@method(*_ALIASES)
def moved(machine: Machine, obj: Obj, call: Call) -> Value:
    """Moves and switches return the module itself and keep its parameters' identity."""
    name = call.name
    dtypes.converted(machine, obj, name, call)
    if name == "cuda":
        device = call.arg(0, "device")
        if device is None:
            machine.emit(events.DeviceTouch(how=".cuda() without an index"), call.node)
        elif (index := device_index(machine, device)) is not None:
            machine.emit(events.DeviceStarted(index=index), call.node)
        placed(machine, obj, Const("cuda"), call.node)
    elif name == "cpu":
        placed(machine, obj, Const("cpu"), call.node)
    elif name == "to":
        touch(machine, call.node, call.arg(0, "device"))
        placed(machine, obj, call.arg(0, "device"), call.node)
    elif name == "eval":
        machine.emit(events.Evaluated(), call.node, obj)
    elif name == "requires_grad_":
        freeze(machine, obj, call.arg(0, "requires_grad") or Const(True), call.node)
    return obj


def mapped(machine: Machine, model: Obj, call: Call) -> None:
    """``from_pretrained(..., device_map=...)``: a library puts the model that it loads on a device, or on several."""
    device = call.kwargs.get("device_map")
    if device is None or not was_loaded_by_library(model):
        return
    for guard, leaf in machine.alternatives(device):
        path = machine.guard.join(guard)
        if path is None or leaf == NONE:
            continue
        with machine.on_path(path):
            whole = _for_all(machine, leaf)
            touch(machine, call.node, whole)
            machine.emit(events.Moved(to=device_kind(machine, whole) or events.SOMEWHERE), call.node, model)


def _for_all(machine: Machine, devices: Value) -> Value | None:
    """The one device that a ``device_map`` names; None where it spreads a model over several, or is not known."""
    if isinstance(devices, Const) and devices.value in ("auto", "balanced", "balanced_low_0", "sequential"):
        return None
    if not isinstance(devices, DictV):
        return devices
    held = machine.entries(devices)
    one = [value for key, _, value in held.entries if key == Const("")]
    return one[0] if one and len(held.entries) == 1 and not held.open_why else None


def freeze(machine: Machine, obj: Obj, switch: Value, node: nodes.NodeNG) -> None:
    """``requires_grad`` is set; anything but a literal True may freeze."""
    machine.emit(events.Thawed() if switch == Const(True) else events.Frozen(surely=switch == Const(False)), node, obj)


@method(
    "set_reshard_after_forward",
    "set_is_last_backward",
    "set_modules_to_forward_prefetch",
    "set_modules_to_backward_prefetch",
    "set_force_sum_reduction_for_comms",
    "set_unshard_in_backward",
    "set_all_reduce_hook",
    "set_post_optim_event",
    "gradient_checkpointing_enable",
    "gradient_checkpointing_disable",
    "enable_input_require_grads",
    "print_trainable_parameters",
    "tie_weights",
)
def switched(machine: Machine, obj: Obj, call: Call) -> Value:
    """Switches of FSDP2 and of Hugging Face's models: no parameter is sharded, moved or exchanged."""
    if call.name == "set_reshard_after_forward":
        keeps = call.arg(0, "reshard_after_forward") != Const(True)
        machine.emit(events.ReshardingSwitched(keeps=keeps, after="forward"), call.node, obj)
    return NONE


@method("apply")
def apply(machine: Machine, obj: Obj, call: Call) -> Value:
    function = call.arg(0, "fn")
    models = [leaf for leaf in machine.objects(function) if leaf.atom.module or machine.find_attr(leaf, "forward")]
    if models and not obj.atom.module:  # no module's method: something is applied to a model
        return machine.libraries.not_known(f"{describe(obj)}.apply()", call, obj)
    if not isinstance(function, (Func, Bound, Partial)):
        blank.written(machine, call.node, [obj], in_place=True)
    known = descendants(machine, obj) or [("", obj.child(BELOW))]
    if function is not None:
        for _, module in reversed(known):
            machine.call(function, Call(call.node, [module]))
    return obj


@method("_apply")
def apply_to_tensors(machine: Machine, obj: Obj, call: Call) -> Value:
    """What ``to()`` is made of: each parameter and buffer is exchanged for what a function returns for it."""
    blank.written(machine, call.node, [obj])
    dtypes.mapped(machine, obj, call.node)
    return obj


@method("append", "insert", "extend")
def append(machine: Machine, obj: Obj, call: Call) -> Value:
    """A ModuleList grows like a list; other unknown objects just take the argument."""
    held = contents(machine, obj)
    value = call.args[-1] if call.args else NONE
    machine.made_often(value)
    if isinstance(held, ListV):
        if call.name == "extend":
            machine.extend(held, value)
        else:
            known = machine.items(held)
            machine.store.put(held.id, Items((*known.items, (TRUE, value)), False, known.open_why))
        for _, item in machine.items(held).items:
            machine.libraries.adopt(obj, EACH, item)
        for added in machine.inside(value):
            machine.libraries.came_late(obj, f"{call.name}()", added, call.node)
        return NONE
    return unknown(call.name)


@method("add_module", "register_module", "register_parameter", "__setattr__")
def add_module(machine: Machine, obj: Obj, call: Call) -> Value:
    name, value = call.arg(0, "name"), call.arg(1, "module") or call.arg(1, "param")
    if value is not None:
        key = str(name.value) if isinstance(name, Const) else SOME
        machine.set_attr(obj, key, value, call.node)
    return NONE


@method("items", "keys", "values")
def container_items(machine: Machine, obj: Obj, call: Call) -> Value:
    held = contents(machine, obj)
    name = call.name
    if isinstance(held, DictV):
        return machine.libraries.call_value_method(held, name, call)
    element = obj.child(EACH)
    if name == "values":
        return machine.new_list([element], exact=False)
    return machine.new_list([TupleV((Text(False), element))] if name == "items" else [Text(False)], exact=False)


@external(
    "torch.jit.script",
    "torch.distributed._composable.replicate",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
    "typing.cast",
    "torchao.float8.convert_to_float8_training",
    "torch.distributed.fsdp.wrap.wrap",
)
def wrapped(machine: Machine, call: Call) -> Value:
    """Wrappers that keep the module, or stand in its place with the same parameters."""
    is_cast, is_compile = (call.name == "typing.cast", call.name == "torch.compile")
    value = call.arg(1 if is_cast else 0, "model") or call.arg(None, "module")
    if is_compile and value is not None:
        note_compiled(machine, call, value)
    if is_cast and value is not None and isinstance(call.args[0], ClassV):
        for leaf in machine.objects(value):
            if leaf.atom.cls is None:
                machine.types.setdefault(leaf, call.args[0])
    return value if value is not None else unknown(call.name)


@external(
    "torch.nn.utils.parametrizations.orthogonal",
    "torch.nn.utils.parametrizations.spectral_norm",
    "torch.nn.utils.parametrizations.weight_norm",
    "torch.nn.utils.parametrize.register_parametrization",
    "torch.nn.utils.parametrize.remove_parametrizations",
    "torch.nn.utils.remove_spectral_norm",
    "torch.nn.utils.remove_weight_norm",
    "torch.nn.utils.spectral_norm",
    "torch.nn.utils.weight_norm",
)
def reparametrised(machine: Machine, call: Call) -> Value:
    """The module that was given, with other parameters in place of one of its own: once it is sharded, that matters."""
    libraries = machine.libraries
    module = call.arg(0, "module")
    if any(libraries.in_sharded(leaf) for leaf in machine.objects(module)):
        libraries.havoc(call.name, call)
    return wrapped(machine, call)


@external("torch.nn.Parameter", "torch.nn.parameter.Parameter")
def parameter(machine: Machine, call: Call) -> Value:
    atom = AbstractObject(
        "external", cls=Ext("torch.nn.Parameter"), origin="torch.nn.Parameter", site=machine.site(call.node)
    )
    frozen = call.arg(1, "requires_grad")
    atom.parameter = not (isinstance(frozen, Const) and frozen.value is False)
    given = call.arg(0, "data")
    if isinstance(given, Obj) and all(map(is_multiple, given.path)):
        atom.know(Size(given.atom.tensor_size))
        if (said := given.atom.state(dtypes.LayerDtype)) is not None:
            atom.know(said)
        atom.sized_by = given.atom.said_by
    return atom.root


@external(
    "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.DataParallel",
    "torch.distributed.fsdp.FullyShardedDataParallel",
)
def wrapper(machine: Machine, call: Call) -> Value:
    """DDP and FSDP1: an object of its own around the module."""
    name = call.name
    inner = call.arg(0, "module")
    atom = AbstractObject("external", cls=Ext(name), origin=name, site=machine.site(call.node))
    atom.module, atom.wrapper = True, "module"
    if inner is not None:
        machine.store.put((atom.root, "module"), inner)
        for leaf in machine.objects(inner):
            machine.emit(events.Wrapped(by=name, outer=atom.root), call.node, leaf)
    return atom.root
