"""What is attached to single parameters, hooks and attributes, and parameters that are one."""

from __future__ import annotations

from astroid import nodes

from .....vocab.declared import record
from ....domain import events
from ....domain.values import NONE, ClassV, Const, Ext, Obj, ParamV, Value, unknown
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import IN_PLACE, method, method_observer

HOOKS = ("register_hook", "register_post_accumulate_grad_hook")
_QUANTIZED = ("quantization_config", "load_in_4bit", "load_in_8bit")
_PARAMETERS = (Ext("torch.nn.Parameter"), Ext("torch.nn.parameter.Parameter"))
# By these a class says itself what operations, or FSDP2, make of its tensors.
_EXTENDED = ("__torch_function__", "__torch_dispatch__", "fsdp_pre_all_gather", "fsdp_post_all_gather")
_OF_TENSORS = frozenset("requires_grad grad data shape dtype device ndim is_leaf grad_fn T layout names".split())


@record
class Shares:
    """This tensor lies in the memory of a parameter, such as the shard that ``to_local()`` hands out."""

    of: ParamV


def shard_of(parameter: ParamV) -> Obj:
    """``parameter.to_local()``: who writes it writes the parameter."""
    made = unknown("to_local()")
    made.atom.operands = (parameter,)
    if not parameter.copied:
        made.atom.know(Shares(parameter))
    return made


def in_memory_of(value: Value) -> Value:
    """The parameter that is written where this tensor is; the tensor itself where it is of none."""
    shared = value.atom.state(Shares) if isinstance(value, Obj) else None
    return shared.of if shared is not None else value


def owners(machine: Machine, value: Value) -> list[tuple[Obj, int]]:
    """Whose parameters a value is, and when they were read."""
    value = in_memory_of(value)
    if isinstance(value, ParamV):
        return [(leaf, value.read) for _, leaf in machine.alternatives(value.model) if isinstance(leaf, Obj)]
    if isinstance(value, Obj) and value.item in ("weight", "bias") and value.parent is not None:
        return [(value.parent, machine.now)]
    made = isinstance(value, Obj) and value.parent is None and value.atom.parameter is not None
    holder = _holder(machine, value) if made or of_own_class(machine, value) else None
    return [(holder, machine.now)] if holder is not None else []


def of_own_class(machine: Machine, value: Value) -> str:
    """The class of a parameter, where that is one of the project which says nothing of what operations make of it."""
    cls = value.atom.cls if isinstance(value, Obj) and value.parent is None and value.atom.kind == "instance" else None
    if not isinstance(cls, ClassV) or not any(base in _PARAMETERS for base in machine.mro(cls)):
        return ""
    return "" if any(machine.class_member(cls, name) is not None for name in _EXTENDED) else cls.name


def _keeps(machine: Machine, parameter: Obj, name: str) -> bool:
    """Was it given this attribute, or is each object of its class when it is made?"""
    if name in machine.store.fields.get(parameter, ()):
        return True
    cls = parameter.atom.cls
    made = [machine.class_member(cls, each) for each in ("__new__", "__init__")] if isinstance(cls, ClassV) else []
    return any(found is not None and name in _given_to_self(found[1]) for found in made)


def _given_to_self(function: nodes.NodeNG) -> set[str]:
    """The attributes that ``__init__`` sets on its object, or ``__new__`` on what it returns."""
    if not isinstance(function, nodes.FunctionDef):
        return set()
    own = {each.name for each in (function.args.args or ())[:1] if function.name == "__init__"}
    own |= {each.value.name for each in function.nodes_of_class(nodes.Return) if isinstance(each.value, nodes.Name)}
    targets = function.nodes_of_class(nodes.AssignAttr)
    return {each.attrname for each in targets if isinstance(each.expr, nodes.Name) and each.expr.name in own}


def _holder(machine: Machine, parameter: Value) -> Obj | None:
    """The module that has it as an attribute."""
    for owner, names in list(machine.store.fields.items()):
        if isinstance(owner, Obj) and any(machine.store.get((owner, name)) is parameter for name in names):
            return owner
    return None


def hooked(machine: Machine, value: Value, call: Call, name: str) -> None:
    for owner, read in owners(machine, value):
        machine.emit(events.ParamHook(name=name, read=read), call.node, owner)


@method(*HOOKS)
def register_hook(machine: Machine, obj: Obj, call: Call) -> Value:
    name = call.name
    hooked(machine, obj, call, name)
    machine.libraries.callbacks(call)
    return unknown(f"{name}()")


@method_observer
def changed(machine: Machine, obj: Obj | ParamV, name: str, call: Call) -> None:
    """``parameter.mul_(0.5)``, also of its ``data``, once anything is sharded. No gradient depends on a bias."""
    if not machine.libraries.any_sharded or name not in IN_PLACE or isinstance(obj, ParamV) and obj.copied:
        return
    value = obj.parent if isinstance(obj, Obj) and obj.item == "data" and obj.parent is not None else obj
    for owner, _ in owners(machine, value) if not isinstance(value, Obj) or value.item != "bias" else ():
        machine.emit(events.Changed(), call.node, owner)


def attribute_set(machine: Machine, value: Value, name: str, node: nodes.NodeNG) -> None:
    if name not in _OF_TENSORS:
        for owner, read in owners(machine, value):
            machine.libraries.marked.add(name)
            machine.emit(events.ParamMarked(name=name, read=read), node, owner)


def marked_before(machine: Machine, owner: Obj, value: Value, node: nodes.NodeNG) -> None:
    """A module gets a parameter that was given attributes when it belonged to none."""
    for leaf in machine.objects(value):
        if leaf.atom.parameter is not None and leaf.parent is None:
            for name in machine.store.fields.get(leaf, ()):
                if name not in _OF_TENSORS:
                    machine.libraries.marked.add(name)
                    machine.emit(events.ParamMarked(name=name, read=machine.now), node, owner)


def attribute_read(machine: Machine, value: Value, name: object, node: nodes.NodeNG) -> None:
    if not machine.libraries.any_sharded or not isinstance(name, str):
        return
    own = of_own_class(machine, value) if isinstance(value, Obj) and _keeps(machine, value, name) else ""
    if own or name in machine.libraries.marked:
        for owner, read in owners(machine, value):
            machine.emit(events.ParamAsked(name=name, read=read, of=own), node, owner)


def quantized(machine: Machine, call: Call) -> None:
    """A library loads weights as a setting says: quantized ones carry what is needed to read them."""
    given = [call.kwargs[name] for name in _QUANTIZED if name in call.kwargs]
    if any(leaf not in (NONE, Const(False)) for value in given for _, leaf in machine.alternatives(value)):
        machine.emit(events.Quantized(), call.node)


# -- parameters that are one: ``head.weight = embed.weight``
def tied(machine: Machine, owner: Obj, value: Value, node: nodes.NodeNG) -> None:
    """From here on the weights of two layers are one parameter."""
    for leaf in machine.objects(value):
        if leaf.item == "weight" and leaf.parent is not None and leaf.parent is not owner:
            machine.emit(events.Tied(other=leaf.parent), node, owner)
