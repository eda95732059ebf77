"""Attributes, items and context managers of objects that are not code of the project."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from astroid import nodes

from ..domain import events
from ..domain.path_conditions import TRUE, PathCondition
from ..domain.store import Items
from ..domain.values import (
    NONE,
    BoundExt,
    ClassV,
    Computed,
    Cond,
    Const,
    Ext,
    GuardedUnion,
    ListV,
    Loaded,
    Obj,
    ParamV,
    Partial,
    StateDict,
    StateTensor,
    Text,
    Value,
    unknown,
)
from ..interpreter.call import Call
from ..interpreter.frames import Diverges
from ..interpreter.syntax import class_body
from . import adapters
from .computed import Element
from .escapes import Escapes
from .frameworks import framework_attr
from .python import records
from .python.reflection import class_as_value, of_classes
from .torch.checkpoints import gathering, kept_futures
from .torch.forward import uses
from .torch.initialisation import blank
from .torch.launch import device, meshes
from .torch.migration import fsdp1_methods, migration, versions
from .torch.ranks import data, own_sources, rank, rounds
from .torch.sharding import module_tree
from .torch.training import dtensors, generators, optim, schedulers
from .words import describe

_OF_PATHS = frozenset({"suffix", "stem", "name", "parent"})


class Objects(Escapes):
    def object_attr(self, obj: Obj, name: str, node: nodes.NodeNG) -> Value:
        """Of parts, wrappers and frameworks; else a part of the object under that name."""
        if (found := framework_attr(obj, name)) is not None:
            return found
        if name == "_orig_mod":
            return obj
        if (inner := adapters.inner_of(self.machine, obj, name)) is not None:
            return self.machine.get_attr(inner, name, node)
        if name == "module" and self.in_sharded(obj):
            migration.module_read(self.machine, obj, node)
            asked = self.is_sharded_formula(obj)
            if not isinstance(asked, bool) and self.machine.guard.decide(asked) is True:
                raise Diverges  # what was found to be sharded has no such attribute
            return obj
        if (
            obj.parent is None
            and obj.atom.kind == "external"
            and isinstance(obj.atom.cls, Ext)
            and obj.atom.cls.qname == "torch.device"
        ):
            known = obj.atom.state(device.Device)
            index = known.index if known is not None else None
            return {"type": Text(False), "index": index or NONE}.get(name, obj.child(name))
        if (told := meshes.attribute(obj, name)) is not None:
            return told
        if name == "__class__":
            migration.class_named(self.machine, obj, node)
            return class_as_value(self.machine, obj)
        if name in fsdp1_methods.OF_FSDP1:
            fsdp1_methods.asked(self.machine, obj, name, node)
        if name == "__dataclass_fields__" and (fields := records.fields_by_name(self.machine, obj)) is not None:
            return fields
        return obj.child(name)

    def value_attr(self, leaf: Value, name: str) -> Value:
        """Unknown where such a value has no attribute of the name that matters."""
        if isinstance(leaf, Computed) and name in ("data", "T"):
            return leaf
        if isinstance(leaf, ParamV) and name == "grad":
            return replace(leaf, copied=True, grad=True)
        if isinstance(leaf, (StateTensor, ParamV)):
            return (
                leaf if name in ("data", "grad") else (BoundExt(leaf, name) if name == "full_tensor" else unknown(name))
            )
        if isinstance(leaf, (Const, Text)) and name in _OF_PATHS:
            return Text(self.machine.per_rank(leaf), of=self.machine.made_of(name, leaf))
        if isinstance(leaf, Text):
            return Text(leaf.per_rank, of=self.machine.made_of(name, leaf))
        if isinstance(leaf, Loaded):
            return Text(leaf.per_rank)
        if isinstance(leaf, Partial) and name == "func":
            return leaf.func
        if isinstance(leaf, Cond):
            return unknown(name)
        return BoundExt(leaf, name)

    def is_loader(self, obj: Obj) -> bool:
        return obj.atom.state(data.Loader) is not None

    def unwrapped(self, value: Value) -> Value:
        return data.unwrapped(value)

    def object_listing(self, obj: Obj) -> Items:
        fields = self.named_fields(obj) if obj.atom.kind == "instance" else []
        held = [self.machine.find_attr(obj, name) or obj.child(name) for name in fields]
        return Items(tuple((TRUE, each) for each in held)) if held else module_tree.object_listing(self.machine, obj)

    def item_of(self, obj: Obj, key: Value, node: nodes.NodeNG) -> Value:
        if obj.item == "__dict__" and obj.parent is not None and isinstance(key, Const):
            return self.machine.get_attr(obj.parent, str(key.value), node)
        self.operated(node, "[]", obj, key)
        if (custom := self.machine.find_attr(obj, "__getitem__")) is not None:
            return self.machine.call(custom, Call(node, [key]))
        fields = self.named_fields(obj)
        if isinstance(key, Const) and isinstance(key.value, int) and -len(fields) <= key.value < len(fields):
            return self.machine.get_attr(obj, fields[key.value], node)
        return module_tree.item_of(self.machine, obj, meshes.several_names(self.machine, key) or key)

    def entry_by_name(self, obj: Obj, name: str) -> Value | None:
        if (inner := adapters.inner_of(self.machine, obj, name)) is not None:
            return self.machine.find_attr(inner, name)
        return module_tree.entry_by_name(self.machine, obj, name)

    def named_fields(self, obj: Obj) -> list[str]:
        """The fields of a named tuple, in order."""
        cls = self.machine.class_of(obj)
        if cls is None or not any(
            base in (Ext("typing.NamedTuple"), Ext("collections.namedtuple")) for base in self.machine.mro(cls)
        ):
            return []
        return [name for name, node in class_body(cls.node).items() if isinstance(node, nodes.AnnAssign)]

    def stored_item(self, obj: Obj, key: Value, value: Value, node: nodes.NodeNG) -> None:
        if obj.item == "__dict__" and obj.parent is not None and isinstance(key, Const):
            self.machine.set_attr(obj.parent, str(key.value), value, node)
            return
        if obj.item == "__dict__" and obj.parent is not None:
            self.havoc("an attribute of a computed name", Call(node, [obj.parent, value]))
        if "['params']" in obj.path or key == Const("params"):
            optim.regrouped(self.machine, obj, node)
        schedulers.group_changed(self.machine, obj, key, value, node)
        blank.overwritten(self.machine, obj, node, value)
        own_sources.item_filled(self.machine, obj, value, node)
        module_tree.stored_item(self.machine, obj, key, value, node)

    def part_of(self, leaf: Value, *, each: bool = False) -> Value:
        if isinstance(leaf, (Loaded, StateTensor)):
            return leaf
        if isinstance(leaf, StateDict):
            return Text(False)
        if isinstance(leaf, ParamV):
            return leaf
        if isinstance(leaf, Text) or isinstance(leaf, Const) and isinstance(leaf.value, str):
            return Text(None)  # a letter, or a line of the file of this name, which each rank may have for itself
        if each and isinstance(leaf, Ext) and not self.harmless(leaf.qname):
            made = unknown(f"each of {leaf.qname}")
            made.atom.know(Element(leaf.qname))
            return made
        return unknown("a part of a value")

    def of_classes(self, value: Value, classes: list[Value]) -> Any:
        return of_classes(self.machine, value, classes)

    def made_by_class(self, cls: ClassV, name: str, made: Value, call: Call) -> Value:
        return records.made_by_class(self.machine, cls, name, made, call)

    def environment(self, key: Value, node: nodes.NodeNG | None = None) -> Value:
        return rank.environment(self.machine, key, self.machine.site(node) if node is not None else None)

    def external_is_module(self, qname: str) -> bool | None:
        return module_tree.external_is_module(qname)

    def known_whole(self, qname: str) -> bool:
        return module_tree.external_is_module(qname) is not None and not module_tree.is_model_base(qname)

    def entered(self, obj: Obj, name: str, call: Call) -> bool:
        """A method of an object is called by name, past ``__call__`` and its hooks: True if it has own ones."""
        patched = self.machine.store.get((obj, name)) is not None
        if not self.any_sharded or patched and (name != "forward" or obj in self.inside):
            return False
        registered = (step for step in self.machine.trace.of(events.Registered) if step.subject is obj)
        if any(step.what.method == name and not step.what.in_vain for step in registered):
            self.machine.emit(
                events.Called(method=name, hooked=True, **uses.circumstances(self.machine)), call.node, obj
            )
            return True
        if name == "forward" and not any(
            frame.func is not None and frame.func.name == "forward" and frame.receiver is obj
            for frame in self.machine.frames  # forward that calls itself: how the first call came in was said there
        ):
            found = uses.circumstances(self.machine)
            self.machine.emit(events.Called(method=name, hooked=False, written=call.node, **found), call.node, obj)
        return False

    def met(self, node: nodes.NodeNG, op: str, left: Value, right: Value) -> None:
        """Two values meet in an operator; one of an object that is not known is a call of it."""
        uses.product(self.machine, node, op, left, right)
        self.operated(node, op, left, right)

    def operated(self, node: nodes.NodeNG, op: str, left: Value, right: Value) -> None:
        if self.is_foreign(left) or self.is_foreign(right):
            if any(self.matters_whole(obj) and not self.is_number(obj) for obj in self.changeable([left, right])):
                self.havoc(f"the operator {op} of what is not known", Call(node, [left, right]))

    def is_number(self, obj: Obj) -> bool:
        """A size of a layer of torch: whoever gets it has nothing of the layer in hand."""
        return obj.parent is not None and module_tree.counts(blank.classes_of(self.machine, obj.parent), obj.item)

    def is_foreign(self, value: Value) -> bool:
        """May its methods be code that is not seen?"""
        if isinstance(value, GuardedUnion):
            return any(self.is_foreign(leaf) for _, leaf in self.machine.alternatives(value))
        if isinstance(value, Ext):
            return not self.harmless(value.qname)
        return isinstance(value, Obj) and value.atom.kind in ("opaque", "parameter")

    def behind_hooks(self, obj: Obj, run: Callable[[], Value]) -> Value:
        """A forward, or what is registered as one, runs while its own parameters are gathered."""
        self.inside.append(obj)
        try:
            return run()
        finally:
            self.inside.pop()

    def enter_manager(self, value: Value, node: nodes.NodeNG) -> Value:
        """Its ``__enter__`` is run where the project has it; one of unseen code has it in its hands."""
        blank.enter(self.machine, value)
        if (mode := uses.mode_of(value)) is not None:
            self.grad_modes.append((mode, self.machine.moment(node)))
        if isinstance(value, Obj):
            manager = value.atom.state(device.DeviceManager) if value.parent is None else None
            if manager is not None:
                selected = events.DeviceSet(name=value.atom.origin, index=manager.index, scoped=True)
                self.machine.emit(selected, node)
            elif value.parent is None and value.atom.state(device.Device) is not None:
                device.touch(self.machine, node, value)
            migration.entered(self.machine, value, node)
            method = self.machine.find_attr(value, "__enter__") or self.machine.find_attr(value, "__aenter__")
            if method is not None:
                return self.machine.call(method, Call(node, []))
            self.managed_by_unseen(value, node)
        return value

    def managed_by_unseen(self, value: Value, node: nodes.NodeNG) -> None:
        """A context manager that is not code of the project begins or ends: what it was given is in its hands."""
        if isinstance(value, Obj) and value.atom.kind == "opaque":
            self.havoc(describe(value), Call(node, [value]))

    def leave_manager(self, value: Value, node: nodes.NodeNG) -> None:
        blank.leave(self.machine, value)
        if isinstance(value, Obj):
            method = self.machine.find_attr(value, "__exit__") or self.machine.find_attr(value, "__aexit__")
            if method is not None:
                self.machine.call(method, Call(node, [NONE, NONE, NONE]))
            else:
                self.managed_by_unseen(value, node)

    def consumes(self, leaf: Value, node: nodes.NodeNG, path: PathCondition = TRUE) -> None:
        generators.consumed(self.machine, leaf, node, "this loop", path)
        rounds.without_order(self.machine, leaf, node)
        rounds.by_number(self.machine, leaf, node)
        data.read(self.machine, leaf, node)

    def goes_through(self, found: list[tuple[PathCondition, Value]], node: nodes.NodeNG) -> None:
        rounds.some_ranks_only(self.machine, found, node)

    def loop_begins(self, node: nodes.NodeNG) -> None:
        kept_futures.loop_begins(self.machine, node)

    def left(self, node: nodes.NodeNG) -> None:
        rounds.left(self.machine, node)

    def loop_ended(self, node: nodes.NodeNG) -> None:
        rounds.ended(self.machine, node)

    def tested(self, value: Value, node: nodes.NodeNG) -> None:
        def one(leaf: Value) -> Value:
            dtensors.value_read(self.machine, leaf, node, "a condition")
            return leaf

        self.machine.over(value, one)

    def tensor_arithmetic(self, op: str, left: Value, right: Value) -> Value:
        return dtensors.arithmetic(op, left, right)

    def only_for_older(self, node: nodes.Try) -> bool:
        return versions.only_for_older_torch(self.machine, node)

    def state_keys(self, state: StateDict) -> Value:
        return gathering.each_key(state)

    def state_tensors(self, state: StateDict) -> Value | None:
        return gathering.replaced(self.machine, state)

    def state_item(self, state: StateDict, key: Value) -> Value:
        return gathering.item(self.machine, state, key)

    def state_put(self, state: StateDict, key: Value, value: Value, path: PathCondition) -> None:
        gathering.item_put(self.machine, state, key, value, path)

    def state_deleted(self, state: StateDict, key: Value) -> None:
        gathering.item_taken(self.machine, state, key)

    def state_left_open(self, state: StateDict) -> None:
        gathering.left_open(self.machine, state)

    def generator_made(self, made: ListV, node: nodes.NodeNG) -> None:
        generators.expression_made(self.machine, made, node)

    def discarded(self, node: nodes.Expr, value: Value) -> None:
        device.discarded(self.machine, node, value)
        migration.dropped(self.machine, node, value)
