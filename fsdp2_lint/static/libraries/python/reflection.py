"""Questions about objects: attributes, classes, callables, modules by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...domain.choices import choose
from ...domain.formulas import Formula, both, either
from ...domain.path_conditions import TRUE
from ...domain.says import Says
from ...domain.values import (
    NONE,
    SOME,
    Bound,
    BoundExt,
    ClassV,
    Const,
    Ext,
    Func,
    GuardedUnion,
    ListV,
    Obj,
    ParamV,
    StateTensor,
    TupleV,
    Value,
    unknown,
)
from ...interpreter.call import Call
from ...interpreter.expressions import asked_names, enums
from ...interpreter.expressions.numbers import said_by
from ..defaults import default_of
from ..interface import Machine
from ..tables import external
from ..torch.migration import fsdp1_methods
from ..torch.migration.migration import class_named, fsdp1_asked
from ..torch.sharding import parameters
from ..torch.sharding.module_tree import was_loaded_by_library
from ..words import IMPORTED
from . import configured
from .attempts import TypeOf, is_dtensor
from .kinds import is_a


@external("builtins.getattr")
def get_attribute(machine: Machine, call: Call) -> Value:
    """``getattr(obj, name, default)``: the default where the object surely lacks it."""
    if len(call.args) < 2:
        return unknown("getattr()")
    fsdp1_methods.looked_up(machine, call)
    default = call.args[2] if len(call.args) > 2 else None

    def one(leaf: Value) -> Value:
        asked = asked_names.spelled_out(machine, call.args[1], leaf, raises=default is None)
        return machine.over(asked, lambda name: of_name(leaf, name))

    def of_name(leaf: Value, name: Value) -> Value:
        parameters.attribute_read(machine, leaf, name.value if isinstance(name, Const) else None, call.node)
        if isinstance(leaf, ClassV) and not isinstance(name, Const) and enums.is_enumeration(machine, leaf):
            return enums.by_name(machine, leaf, name)
        if isinstance(leaf, Ext) and isinstance(usual := default_of(machine, name), Const):
            return by_setting(machine, leaf, name, usual, call)
        if not (isinstance(name, Const) and isinstance(name.value, str)):
            return leaf.child(SOME) if isinstance(leaf, Obj) else unknown("an attribute", kind="opaque")
        if (
            default is not None
            and isinstance(leaf, Obj)
            and machine.find_attr(leaf, name.value) is None
            and machine.libraries.surely_lacks(leaf, name.value)
        ):
            return default
        if default is not None and isinstance(leaf, (Func, Bound)) and not may_have(machine, leaf, name.value):
            return default
        if default is not None and isinstance(leaf, (StateTensor, ParamV)) and name.value in OF_DTENSOR:
            return perhaps_dtensor(leaf, name.value, default)
        if name.value in fsdp1_methods.OF_FSDP1 and machine.find_attr(leaf, name.value) is None:
            return leaf.child(name.value) if isinstance(leaf, Obj) else unknown(name.value)
        return machine.get_attr(leaf, name.value, call.node)

    return machine.over(call.args[0], one)


def by_setting(machine: Machine, package: Ext, name: Value, usual: Const, call: Call) -> Value:
    """``getattr(torch, settings.dtype)``: what the default of the setting names, where nobody says otherwise."""
    other = unknown("an attribute", kind="opaque")
    paths = TRUE.add(("is", name, usual.value)), TRUE.add(("is", name, usual.value), False)
    if not isinstance(usual.value, str) or paths[0] is None or paths[1] is None:
        return other
    return choose([(paths[0], machine.get_attr(package, usual.value, call.node)), (paths[1], other)])


_OF_FUNCTIONS = frozenset(dir(lambda: None))


def may_have(machine: Machine, function: Func | Bound, name: str) -> bool:
    """May a function have this attribute: was it given it, or does something around it that was not followed?"""
    inner = function.func if isinstance(function, Bound) else function
    return bool(inner.around) or name in _OF_FUNCTIONS or machine.given_to_function(function, name) is not None


OF_DTENSOR = frozenset(
    {"full_tensor", "to_local", "placements", "device_mesh", "redistribute", "_local_tensor", "_spec"}
)


def perhaps_dtensor(leaf: StateTensor | ParamV, name: str, default: Value) -> Value:
    """``getattr(t, "to_local", None)``: the method where the tensor is a DTensor, the default where it is not."""
    asked = is_dtensor(leaf)
    paths = TRUE.add(asked) or TRUE, TRUE.add(asked, False) or TRUE
    return choose([(paths[0], BoundExt(leaf, name)), (paths[1], default)])


@external("builtins.setattr")
def set_attribute(machine: Machine, call: Call) -> Value:
    """``setattr(obj, name, value)``; of any name where that is not known."""
    if len(call.args) == 3:
        _, name, value = call.args
        for guard, leaf in machine.alternatives(call.args[0]):
            if isinstance(name, Const):
                machine.assign_attr(leaf, str(name.value), value, call.node, guard)
            elif not isinstance(leaf, Obj):
                machine.libraries.parameter_marked(leaf, SOME, call.node)
                machine.patch(leaf, SOME, value, call.node)
            elif value == NONE:  # any part may be gone
                for field in list(machine.store.fields.get(leaf, ())):
                    if isinstance(machine.store.get((leaf, field)), (Obj, GuardedUnion)):
                        machine.store.put((leaf, field), leaf.child(field))
            elif not (isinstance(value, Obj) and leaf.child(SOME) in value.above):  # else it is put back
                machine.any_field_set(leaf)
                machine.set_attr(leaf, SOME, value, call.node)
                machine.open_groups(leaf, value)
    return NONE


_OF_PRETRAINED = frozenset({"config", "save_pretrained", "from_pretrained", "generation_config", "tie_weights"})
_OF_ALL_PRETRAINED = frozenset({"save_pretrained", "from_pretrained"})  # also of tokenizers, pipelines, configurations


# What fully_shard gives to a module.
OF_SHARDED = frozenset(
    """unshard reshard set_is_last_backward set_requires_gradient_sync set_requires_all_reduce
    set_reshard_after_forward set_reshard_after_backward set_modules_to_forward_prefetch
    set_modules_to_backward_prefetch set_all_reduce_hook set_post_optim_event set_gradient_divide_factor
    set_reduce_scatter_divide_factor set_force_sum_reduction_for_comms set_unshard_in_backward
    set_custom_all_gather set_custom_reduce_scatter set_allocate_memory_from_process_group_for_comm""".split()
)


@external("builtins.hasattr")
def has_attribute(machine: Machine, call: Call) -> Value:
    """Decided where its class and its fields are known, else a question about this object."""
    if len(call.args) < 2 or not isinstance(call.args[1], Const):
        return unknown("hasattr()")
    fsdp1_methods.looked_up(machine, call)
    name = call.args[1].value

    def formula(leaf: Value) -> Any:
        parameters.attribute_read(machine, leaf, name, call.node)
        if isinstance(leaf, (StateTensor, ParamV)) and name in OF_DTENSOR:
            return is_dtensor(leaf)
        if isinstance(leaf, Obj):
            if machine.find_attr(leaf, name) is not None or machine.libraries.surely_has(leaf, name):
                return True
            if name in _OF_PRETRAINED and machine.libraries.is_pretrained(leaf):
                return True
            if name in _OF_ALL_PRETRAINED and was_loaded_by_library(leaf):
                return True
            if name in OF_SHARDED:
                return machine.libraries.is_sharded_formula(leaf)
            return False if machine.libraries.surely_lacks(leaf, name) else ("truth", ("hasattr", leaf, name))
        if leaf == NONE:
            return hasattr(None, str(name))
        return ("truth", ("hasattr", leaf, name))

    value = call.args[0]
    return machine.cond(machine.spread(value, formula) if isinstance(value, GuardedUnion) else formula(value))


@external("builtins.isinstance", "builtins.issubclass")
def is_instance(machine: Machine, call: Call) -> Value:
    if len(call.args) < 2:
        return unknown("isinstance()")
    return _asked(machine, call, call.args[1])


def _classes_asked(machine: Machine, asked: Value) -> dict[Formula, list[Value]]:
    """The classes that ``isinstance`` is given, by what must hold for them to be among these."""
    found: dict[Formula, list[Value]] = {}
    for path, leaf in machine.leaves(asked):
        if why := machine.more_inside(leaf):
            found.setdefault(machine.guard.beyond(path), []).append(unknown(why, kind="opaque"))
        if not isinstance(leaf, (TupleV, ListV)):
            found.setdefault(machine.guard.beyond(path), []).append(leaf)
    return found


@external("torch.is_tensor")
def is_tensor(machine: Machine, call: Call) -> Value:
    return _asked(machine, call, Ext("torch.Tensor")) if call.args else unknown("is_tensor()")


def _asked(machine: Machine, call: Call, asked: Value) -> Value:
    value = call.args[0]
    everything = [cls for classes in _classes_asked(machine, asked).values() for cls in classes]
    for leaf in machine.objects(value):
        fsdp1_asked(machine, leaf, everything, call)

    def of_one(leaf: Value, classes: Value) -> Formula:
        found = _classes_asked(machine, classes)
        return either(both([path, _of_some(machine, leaf, some)]) for path, some in found.items())

    def formula(leaf: Value) -> Formula:
        return (
            machine.spread(asked, lambda one: of_one(leaf, one))
            if isinstance(asked, GuardedUnion)
            else of_one(leaf, asked)
        )

    return machine.cond(machine.spread(value, formula) if isinstance(value, GuardedUnion) else formula(value))


def of_classes(machine: Machine, value: Value, classes: Sequence[Value]) -> Formula:
    """When a value is an object of one of these classes."""

    def formula(leaf: Value) -> Formula:
        return _of_some(machine, leaf, classes)

    return machine.spread(value, formula) if isinstance(value, GuardedUnion) else formula(value)


def _of_some(machine: Machine, leaf: Value, classes: Sequence[Value]) -> Formula:
    if isinstance(leaf, Obj):
        return machine.libraries.isinstance_formula(leaf, list(classes))
    return either(_of_class(machine, leaf, cls) for cls in classes)


def _of_class(machine: Machine, leaf: Value, cls: Value) -> Formula:
    member = enums.as_member(leaf)
    if member is not None and (isinstance(cls, ClassV) or cls in machine.mro(member.cls)):
        return cls in machine.mro(member.cls)
    return is_a(leaf, cls)


@external("builtins.callable")
def is_callable(machine: Machine, call: Call) -> Value:
    def formula(leaf: Value) -> Any:
        return leaf != NONE if not isinstance(leaf, Obj) else machine.truth(leaf)

    value = call.args[0] if call.args else NONE
    return machine.cond(machine.spread(value, formula) if isinstance(value, GuardedUnion) else formula(value))


@external("types.MethodType")
def bind_method(machine: Machine, call: Call) -> Value:
    if len(call.args) == 2 and isinstance(call.args[0], Func):
        return Bound(call.args[1], call.args[0])
    return unknown("a method", kind="opaque")


@external("builtins.type")
def type_of(machine: Machine, call: Call) -> Value:
    value = call.args[0] if call.args else NONE
    if not isinstance(value, Obj):
        found = unknown("type()")
        found.atom.know(TypeOf(value))
        return found
    class_named(machine, value, call.node)
    return class_as_value(machine, value)


def class_as_value(machine: Machine, obj: Obj) -> Value:
    """``type(obj)`` and ``obj.__class__``."""
    if (cls := machine.class_of(obj)) is not None:
        return cls
    if isinstance(obj.atom.cls, Ext) and obj.parent is None and obj.atom.kind == "external":
        return obj.atom.cls
    return obj.child("__class__")


@external("builtins.__import__", "importlib.import_module")
def import_by_name(machine: Machine, call: Call) -> Value:
    name = call.args[0] if call.args else NONE
    if call.name.endswith("import_module"):
        name = asked_names.modules(machine, configured.named(machine, name, call.node), call.node)
    return machine.over(name, lambda each: _imported(machine, call, each))


def _imported(machine: Machine, call: Call, name: Value) -> Value:
    if isinstance(name, Const) and isinstance(name.value, str) and not name.value.startswith("."):
        return machine.import_module(machine.frame.module, name.value, call.name.endswith("import_module"))
    who = "a module imported by a computed name"
    if machine.only_of_project(machine.frame.module, name, call.arg(1, "package")):
        pass  # what files of the project do when they are imported is seen where their names are asked for
    elif _if_one_is_named(machine, name):
        machine.libraries.unfollowed[who, call.node] = None
    else:
        machine.libraries.havoc(who, call)
    imported = unknown(IMPORTED, kind="opaque")
    imported.atom.said_by = Says.UNREAD if said_by(machine, name) is Says.UNREAD else None  # which of them it is
    return imported


def _if_one_is_named(machine: Machine, name: Value) -> bool:
    """Does this run only where somebody names a module: was the name asked for before, and may it be missing?"""
    asked, path = machine.truth(name), machine.guard.literals
    at = next((at for at, part in enumerate(path) if part == (asked, True)), None)
    return isinstance(name, Obj) and at is not None and path[: at + 1] not in machine.refused
