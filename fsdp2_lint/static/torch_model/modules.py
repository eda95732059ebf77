"""``nn.Module``: children, calls, moves, and which module holds which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..guards import TOP
from ..store import Items
from ..values import (
    BELOW, EACH, NONE, PICK, SOME, Atom, ClassV, Const, DictV, Ext, ListV, Loaded, Obj, Params, ParamV, Text, TupleV, Value,
    unknown,
)  # fmt: skip
from .device import touch
from .tables import external, method

if TYPE_CHECKING:
    from astroid import nodes

    from ..interp.calls import Call
    from ..interp.interpreter import Interpreter

LISTS = frozenset({"torch.nn.ModuleList", "torch.nn.Sequential", "torch.nn.ParameterList"})
DICTS = frozenset({"torch.nn.ModuleDict", "torch.nn.ParameterDict"})
CONTAINERS = LISTS | DICTS
# Modules of torch.nn that own parameters; the number of them where sizes are literal.
_SIZES = {
    "Linear": lambda a: a[0] * a[1] + a[1],
    "Embedding": lambda a: a[0] * a[1],
    "LayerNorm": lambda a: 2 * a[0],
    "RMSNorm": lambda a: a[0],
    "Conv2d": lambda a: a[0] * a[1] * 64 + a[1],
}
PARAMETRIC = frozenset(
    """Linear Bilinear LazyLinear Embedding EmbeddingBag LayerNorm RMSNorm GroupNorm BatchNorm1d BatchNorm2d BatchNorm3d
    SyncBatchNorm Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d MultiheadAttention LSTM GRU RNN
    Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer TransformerDecoderLayer PReLU""".split()
)  # fmt: skip
FREE = frozenset(
    """Dropout Dropout1d Dropout2d ReLU GELU SiLU Sigmoid Tanh Softmax LogSoftmax Identity Flatten Unflatten MaxPool2d AvgPool2d
    AdaptiveAvgPool2d CrossEntropyLoss MSELoss BCEWithLogitsLoss NLLLoss L1Loss LeakyReLU ELU Mish Upsample PixelShuffle
    Hardswish Softplus AdaptiveAvgPool1d MaxPool1d AvgPool1d ZeroPad2d""".split()
)  # fmt: skip
MAX_MODULES = 60
_ALIASES = ("to", "cuda", "cpu", "half", "float", "bfloat16", "double", "train", "eval", "requires_grad_", "type", "xpu", "npu", "share_memory")


def external_is_module(qname: str) -> bool | None:
    """Is this class of another package an ``nn.Module``? None: cannot tell."""
    if qname in ("builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "enum.Enum", "typing.NamedTuple"):
        return False
    if qname.startswith("torch.nn.") and qname.rsplit(".", 1)[-1][:1].isupper():
        return not qname.startswith(("torch.nn.Parameter", "torch.nn.parameter"))
    if qname.startswith(("torch.optim.", "torch.utils.data.", "torch.distributed.checkpoint.", "torch.autograd.", "typing.", "collections.", "builtins.", "abc.", "enum.", "dataclasses.")):
        return False
    return None


def make_external_module(machine: Interpreter, qname: str, call: Call) -> Value:
    atom = Atom("external", cls=Ext(qname), origin=qname, site=machine.site(call.node))
    atom.facts["module"] = True
    name = qname.rsplit(".", 1)[-1]
    numbers = [value.value for value in call.args if isinstance(value, Const) and isinstance(value.value, int)]
    if name in _SIZES and len(numbers) == len(call.args) and len(numbers) >= (2 if name not in ("LayerNorm", "RMSNorm") else 1):
        atom.facts["size"] = _SIZES[name](numbers)
    obj = atom.root
    if qname in LISTS:
        fill_list(machine, obj, call)
    elif qname in DICTS:
        fill_dict(machine, obj, call)
    if "device" in call.kwargs:
        touch(machine, call.node, call.kwargs["device"])
    if qname in ("torch.nn.TransformerEncoder", "torch.nn.TransformerDecoder"):
        layers = Atom("external", cls=Ext("torch.nn.ModuleList"), origin="torch.nn.ModuleList", site=atom.site)
        layers.facts["module"] = True
        machine.store.put((obj, "layers"), layers.root)
        machine.adopt(obj, "layers", layers.root)
    return obj


def fill_list(machine: Interpreter, obj: Obj, call: Call) -> None:
    if len(call.args) == 1 and not _is_module(machine, call.args[0]):
        held = machine.listing(call.args[0])
    else:
        held = Items(tuple((TOP, value) for value in call.args), not call.open_why, call.open_why)
    contents = ListV(machine.fresh())
    machine.store.put(contents.id, held)
    machine.store.put((obj, "[]"), contents)
    for position, (_, item) in enumerate(held.items):
        exact = held.exact or len(held.items) > 1
        machine.adopt(obj, f"[{position}]" if exact else EACH, item)


def fill_dict(machine: Interpreter, obj: Obj, call: Call) -> None:
    made = machine.new_dict()
    for value in call.args:
        machine.update_dict(made, value)
    for name, value in call.kwargs.items():
        machine.set_item(made, Const(name), value, call.node)
    machine.store.put((obj, "[]"), made)
    for key, _, item in machine.entries(made).entries:
        machine.adopt(obj, f"[{key.value!r}]" if isinstance(key, Const) else EACH, item)


def _is_module(machine: Interpreter, value: Value) -> bool:
    return isinstance(value, Obj) and bool(value.atom.facts.get("module")) and value.atom.cls not in [Ext(name) for name in CONTAINERS]


def contents(machine: Interpreter, obj: Obj) -> Value | None:
    """What a ModuleList, Sequential or ModuleDict holds, as a list or dict."""
    found = machine.store.get((obj, "[]"))
    if found is not None:
        machine.reads += 1
    return found if isinstance(found, (ListV, DictV)) else None


def object_listing(machine: Interpreter, obj: Obj) -> Items:
    held = contents(machine, obj)
    if held is not None:
        return machine.listing(held)
    if obj.item == EACH and obj.atom.kind == "unknown" and obj.depth == 1 and obj.atom.origin == "range":
        return Items(((TOP, obj),), False)
    return Items(((TOP, obj.child(EACH)),), False)


def item_of(machine: Interpreter, obj: Obj, key: Value) -> Value:
    held = contents(machine, obj)
    if isinstance(held, ListV):
        return machine.list_item(machine.items(held), key)
    if isinstance(held, DictV):
        return machine.dict_item(held, key)
    if isinstance(key, Const):
        return obj.child(f"[{key.value!r}]")
    return obj.child(EACH if isinstance(key, Obj) and key.item == EACH else SOME)


def stored_item(machine: Interpreter, obj: Obj, key: Value, value: Value, node: nodes.NodeNG) -> None:
    held = contents(machine, obj)
    if held is not None:
        machine.set_item(held, key, value, node)
    machine.attached(obj, f"[{key.value!r}]" if isinstance(key, Const) else EACH, value, node)


def children(machine: Interpreter, obj: Obj) -> list[tuple[str, Value]] | None:
    """The known direct children of a module of the project; None if it was not followed."""
    if obj.parent is not None or not obj.atom.facts.get("module") or obj.atom.facts.get("wrapper"):
        return None
    if obj.atom.kind == "external" and not (isinstance(obj.atom.cls, Ext) and obj.atom.cls.qname.startswith("torch.nn.")):
        return None
    found: list[tuple[str, Value]] = []
    for child, (holder, name) in machine.parents.items():
        if holder is obj and child.atom.facts.get("parameter") is None:
            found.append((name, child))
    return found


@method("parameters", "named_parameters", "buffers", "named_buffers")
def parameters(machine: Interpreter, obj: Obj, call: Call) -> Value:
    name = machine.called_name
    if name.endswith("buffers"):
        return unknown("buffers")
    return Params(obj, named=name.startswith("named"))


@method("modules", "named_modules")
def modules(machine: Interpreter, obj: Obj, call: Call) -> Value:
    """Parents first. Of a model that was followed to its leaves, the modules themselves."""
    named = machine.called_name == "named_modules"
    known = descendants(machine, obj)
    found: list[tuple[str, Value]] = list(known) if known is not None else [("", obj.child(BELOW))]
    return machine.new_list([TupleV((Text(False, name), child)) if named else child for name, child in found], exact=False)


def descendants(machine: Interpreter, obj: Obj, name: str = "", depth: int = 0) -> list[tuple[str, Obj]] | None:
    """A module and all below it, in the order of ``modules()``; None where a part is unknown."""
    if obj.parent is not None or not obj.atom.facts.get("module") or depth > 8:
        return None
    cls = obj.atom.cls
    if obj.atom.kind == "instance" and not (isinstance(cls, ClassV) and machine.closed_class(cls)):
        return None
    if isinstance(cls, Ext) and not cls.qname.startswith("torch.nn."):
        return None
    found = [(name, obj)]
    for child, (holder, item) in machine.parents.items():
        if holder is not obj or child.atom.facts.get("parameter") is not None:
            continue
        if child.atom.kind in ("unknown", "parameter", "opaque") and not machine.plain_field(child):
            return None
        if child.atom.facts.get("module"):
            inner = descendants(machine, child, f"{name}.{item}" if name else item, depth + 1)
            if inner is None:
                return None
            found += inner
    return found if len(found) <= MAX_MODULES else None


@method("children", "named_children")
def module_children(machine: Interpreter, obj: Obj, call: Call) -> Value:
    named = machine.called_name == "named_children"
    known = children(machine, obj)
    pairs = list(known) if known is not None else [("", obj.child(EACH))]
    return machine.new_list([TupleV((Const(name) if name else Text(False), child)) if named else child for name, child in pairs], exact=False)


@method("get_submodule")
def get_submodule(machine: Interpreter, obj: Obj, call: Call) -> Value:
    name = call.arg(0, "target")
    if isinstance(name, Const) and isinstance(name.value, str):
        value: Value = obj
        for part in name.value.split("."):
            value = machine.item_of(value, Const(int(part)), call.node) if part.isdigit() and isinstance(value, Obj) else machine.get_attr(value, part, call.node)  # fmt: skip
        return value
    return obj.child(BELOW)


@method(*_ALIASES)
def moved(machine: Interpreter, obj: Obj, call: Call) -> Value:
    """Moves and switches return the module itself and keep its parameters' identity."""
    name = machine.called_name
    if name == "cuda":
        if not call.args and "device" not in call.kwargs:
            machine.emit("device_touch", call.node, None, how=".cuda() without an index")
    elif name == "to":
        touch(machine, call.node, call.arg(0, "device"))
    elif name == "requires_grad_":
        freeze(machine, obj, call.arg(0, "requires_grad") or Const(True), call.node)
    return obj


def freeze(machine: Interpreter, obj: Obj, switch: Value, node: nodes.NodeNG) -> None:
    """``requires_grad`` is set; anything but a literal True may freeze."""
    if switch != Const(True):
        machine.emit("frozen", node, obj)


@method("to_empty")
def to_empty(machine: Interpreter, obj: Obj, call: Call) -> Value:
    touch(machine, call.node, call.arg(None, "device"))
    return obj


@method("apply")
def apply(machine: Interpreter, obj: Obj, call: Call) -> Value:
    function = call.arg(0, "fn")
    if function is not None:
        machine.call(function, type(call)(machine, call.node, [obj.child(BELOW)]))
    return obj


@method("append", "insert", "extend")
def append(machine: Interpreter, obj: Obj, call: Call) -> Value:
    """A ModuleList grows like a list; other unknown objects just take the argument."""
    held = contents(machine, obj)
    value = call.args[-1] if call.args else NONE
    if isinstance(held, ListV):
        if machine.called_name == "extend":
            machine.extend(held, value)
        else:
            known = machine.items(held)
            machine.store.put(held.id, Items((*known.items, (TOP, value)), False, known.open_why))
        for _, item in machine.items(held).items:
            machine.adopt(obj, EACH, item)
        return NONE
    return unknown(machine.called_name)


@method("add_module", "register_module", "register_parameter", "__setattr__")
def add_module(machine: Interpreter, obj: Obj, call: Call) -> Value:
    name, value = call.arg(0, "name"), call.arg(1, "module") or call.arg(1, "param")
    if value is not None:
        key = str(name.value) if isinstance(name, Const) else SOME
        machine.set_attr(obj, key, value, call.node)
    return NONE


@method("add_adapter", "load_lora_adapter")
def add_adapter(machine: Interpreter, obj: Obj, call: Call) -> Value:
    """PEFT through transformers and diffusers: new trainable matrices inside the model."""
    if machine.any_sharded and machine.in_sharded(obj):
        adapter = Atom("external", cls=Ext("torch.nn.Linear"), origin="an adapter", site=machine.site(call.node))
        adapter.facts["module"] = True
        machine.emit("attached", call.node, obj, name=f"{machine.called_name}()", value=adapter.root)
    return NONE


@method("items", "keys", "values")
def container_items(machine: Interpreter, obj: Obj, call: Call) -> Value:
    held = contents(machine, obj)
    name = machine.called_name
    if isinstance(held, DictV):
        return machine.call_value_method(held, name, call)
    element = obj.child(EACH)
    if name == "values":
        return machine.new_list([element], exact=False)
    return machine.new_list([TupleV((Text(False), element))] if name == "items" else [Text(False)], exact=False)


@method("save_pretrained")
def save_pretrained(machine: Interpreter, obj: Obj, call: Call) -> Value:
    """Writes the given state dict through safetensors."""
    if "state_dict" in call.kwargs:
        machine.emit("saved", call.node, None, payload=call.kwargs["state_dict"], path=call.arg(0, "save_directory") or NONE, by="save_pretrained")
    return NONE


@external("torch.compile", "torch.jit.script", "torch.distributed.algorithms._checkpoint.checkpoint_wrapper.checkpoint_wrapper", "torch.distributed._composable.checkpoint", "torch.distributed._composable.replicate", "torch.distributed.tensor.parallel.parallelize_module", "torch.nn.SyncBatchNorm.convert_sync_batchnorm", "typing.cast", "torchao.float8.convert_to_float8_training", "torch.distributed.fsdp.wrap.wrap", "copy.copy")  # fmt: skip
def wrapped(machine: Interpreter, call: Call) -> Value:
    """Wrappers that keep the module, or stand in its place with the same parameters."""
    is_cast = machine.called_name == "typing.cast"
    value = call.arg(1 if is_cast else 0, "model") or call.arg(None, "module")
    if is_cast and value is not None and isinstance(call.args[0], ClassV):
        for _, leaf in machine.alternatives(value):
            if isinstance(leaf, Obj) and leaf.atom.cls is None:
                machine.types.setdefault(leaf, call.args[0])
    return value if value is not None else unknown(machine.called_name)


@external("torch.nn.Parameter", "torch.nn.parameter.Parameter")
def parameter(machine: Interpreter, call: Call) -> Value:
    atom = Atom("external", cls=Ext("torch.nn.Parameter"), origin="torch.nn.Parameter", site=machine.site(call.node))
    frozen = call.arg(1, "requires_grad")
    atom.facts["parameter"] = not (isinstance(frozen, Const) and frozen.value is False)
    return atom.root


@external("torch.nn.parallel.DistributedDataParallel", "torch.nn.DataParallel", "torch.distributed.fsdp.FullyShardedDataParallel")
def wrapper(machine: Interpreter, call: Call) -> Value:
    """DDP and FSDP1: an object of its own around the module."""
    name = machine.called_name
    inner = call.arg(0, "module")
    atom = Atom("external", cls=Ext(name), origin=name, site=machine.site(call.node))
    atom.facts.update(module=True, wrapper=name.rsplit(".", 1)[-1])
    if inner is not None:
        machine.store.put((atom.root, "module"), inner)
        for _, leaf in machine.alternatives(inner):
            if isinstance(leaf, Obj):
                machine.emit("wrapped", call.node, leaf, by=name, outer=atom.root)
    return atom.root


__all__ = ["PICK", "Loaded", "ParamV"]
