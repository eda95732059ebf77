"""What the interpreter asks of torch: calls, attributes and items of objects that are not project code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from astroid import nodes

from ..guards import TOP
from ..interp.machine import FALL, Diverges, Machine
from ..relations import Address, Relation, address, relation
from ..store import Entries, Items
from ..values import (
    BELOW, EACH, NONE, Atom, Bound, BoundExt, ClassV, Cond, Const, DictV, Ext, Func, ListV, Loaded, Obj, Params, ParamV,
    Partial, Rank, StateDict, StateTensor, Text, TupleV, Value, is_each, unknown,
)  # fmt: skip
from . import builtins, collectives, device, modules, optim, rank, sharding, state_dict  # noqa: F401 (they register)
from .frameworks import call_framework, framework_attr, framework_method, framework_of
from .tables import DYNAMIC, EXTERNALS, HARMLESS, METHODS

if TYPE_CHECKING:
    from ..project import Module
    from ..interp.calls import Call
    from ..interp.interpreter import Interpreter

MAX_REACH = 3
_STDLIB_OPAQUE = ("subprocess", "importlib", "runpy", "multiprocessing", "concurrent")
# Methods that make something new at each call. Others are taken to give the same answer when asked
# the same again, which keeps the conditions of a program in step with each other.
_BUILDERS = ("build", "create", "make", "load", "from_", "construct", "instantiate", "new", "setup", "prepare", "init")
# Packages that look at functions or keep them, but do not call them while a model is set up.
_NEVER_CALL = (
    "builtins.", "inspect.", "typing.", "functools.", "types.", "logging.", "warnings.", "dataclasses.", "operator.", "weakref.",
    "atexit.", "signal.", "torch.library.", "torch._dynamo.", "torch.compiler.", "torch.utils.data.", "torch.fx.",
)  # fmt: skip
_CONFIGURATIONS = (
    "argparse.ArgumentParser", "json.load", "yaml.", "omegaconf.", "tomli.", "tomllib.", "toml.", "tyro.", "transformers.HfArgumentParser",
    "simple_parsing.", "jsonargparse.", "configparser.", "ml_collections.", "draccus.", "dacite.",
)  # fmt: skip
_GLOBAL_MESH = "torch.distributed.device_mesh.DeviceMesh"


class TorchModel(Machine):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.called_name = ""
        self.any_sharded = False
        self.sharded_atoms: set[Atom] = set()
        self.optimizers: set[Obj] = set()
        self.inside: list[Obj] = []
        self.opaque: dict[str, nodes.NodeNG] = {}
        self.adopted_at: dict[Obj, int] = {}
        self.called_atoms: set[Atom] = set()

    # -- calls -------------------------------------------------------------------

    def call_external(self: Interpreter, qname: str, call: Call) -> Value:  # type: ignore[misc]
        handler = EXTERNALS.get(qname)
        self.called_name = qname
        if handler is not None:
            return handler(self, call)
        if qname.endswith(".__init__") and optim.is_optimizer(qname[: -len(".__init__")]) and call.args and isinstance(call.args[0], Obj):
            optim.created(self, call.args[0], type(call)(self, call.node, call.args[1:], call.kwargs, call.open_why))
            return NONE
        if optim.is_optimizer(qname):
            return optim.make_optimizer(self, qname, call)
        if modules.external_is_module(qname) and qname.startswith("torch.nn."):
            return modules.make_external_module(self, qname, call)
        if framework_of(qname):
            return call_framework(self, qname, call)
        return self.call_other(qname, call)

    def call_other(self: Interpreter, qname: str, call: Call) -> Value:  # type: ignore[misc]
        """Some function of another package."""
        package = qname.split(".")[0]
        if package == "torch" and "device" in call.kwargs:
            device.touch(self, call.node, call.kwargs["device"])
        if not qname.startswith(_NEVER_CALL):
            self.callbacks(call, spawned=qname in ("torch.multiprocessing.spawn", "torch.multiprocessing.start_processes"))
        harmless = self.harmless(qname)
        kind = "configuration" if qname.startswith(_CONFIGURATIONS) else "unknown" if harmless else "opaque"
        atom = Atom(kind, origin=qname, site=self.site(call.node))
        if qname.endswith("GradScaler"):
            atom.facts["scaler"] = True
        handed = [leaf.qname for value in call.all for _, leaf in self.leaves(value) if isinstance(leaf, Ext) and not self.harmless(leaf.qname)]
        if not harmless or handed:
            self.opened(qname if not harmless else handed[0], call)
        if optim.owners(self, TupleV(tuple(call.all))) and not package == "torch":
            optim.created(self, atom.root, call, proven=False)
        return atom.root

    def harmless(self, qname: str) -> bool:
        """Does this function leave models, optimizers and the device alone?"""
        import sys

        package = qname.split(".")[0]
        if qname in DYNAMIC or package in _STDLIB_OPAQUE:
            return False
        return package in HARMLESS or package in sys.stdlib_module_names

    def opened(self: Interpreter, who: str, call: Call, receiver: Value | None = None) -> None:  # type: ignore[misc]
        """Something ran that was not understood: it may have changed what it was given."""
        self.opaque.setdefault(who, call.node)
        self.escape(call, who, receiver)

    def escape(self: Interpreter, call: Call, who: str, receiver: Value | None = None) -> tuple[Obj, ...]:  # type: ignore[misc]
        given = [*call.all, *([receiver] if receiver is not None else [])]
        escaped: list[Obj] = []
        seen: set[Value] = set()
        for value in given:
            self.collect_changeable(value, escaped, seen, 0)
        if escaped:
            self.emit("escaped", call.node, escaped[0], objects=tuple(dict.fromkeys(escaped)), who=who)
        return tuple(dict.fromkeys(escaped))

    def collect_changeable(self: Interpreter, value: Value, into: list[Obj], seen: set[Value], depth: int) -> None:  # type: ignore[misc]
        """What code that got hold of ``value`` can reach: items, fields, what a partial was given."""
        for _, leaf in self.leaves(value):
            if isinstance(leaf, Bound):
                leaf = leaf.receiver
            if isinstance(leaf, Partial):
                for part in (*leaf.args, *(item for _, item in leaf.kwargs)):
                    self.collect_changeable(part, into, seen, depth + 1)
            if not isinstance(leaf, Obj) or leaf in seen:
                continue
            seen.add(leaf)
            if self.can_be_changed(leaf):
                into.append(leaf)
            if depth < MAX_REACH and not leaf.atom.facts.get("module"):
                for name in self.store.fields.get(leaf, ()):
                    held = self.store.get((leaf, name))
                    if held is not None and not isinstance(held, (Items, Entries)):
                        self.collect_changeable(held, into, seen, depth + 1)

    def can_be_changed(self, obj: Obj) -> bool:
        atom = obj.atom
        if atom.kind == "configuration" or atom.facts.get("device"):
            return False
        return bool(atom.kind == "instance" or atom.facts.get("module") or obj in self.optimizers or self.in_sharded(obj) or atom.kind in ("parameter", "opaque"))

    def callbacks(self: Interpreter, call: Call, *, spawned: bool = False) -> None:  # type: ignore[misc]
        """Functions handed to code that we do not see are taken to be called once."""
        for value in call.all:
            for _, leaf in self.alternatives(value):
                if isinstance(leaf, (Func, Bound, Partial)) and not self.is_wrapper_argument(leaf):
                    arguments = type(call)(self, call.node, [], {})
                    if spawned:
                        handed = call.arg(1, "args")
                        rest = [item for _, item in self.listing(handed).items] if handed is not None else []
                        arguments = type(call)(self, call.node, [rank.LOCAL, *rest], {})
                    outer = self.context
                    self.context = outer if spawned else self.fresh()
                    self.branch([(TOP, lambda leaf=leaf, arguments=arguments: self.quietly(leaf, arguments))])
                    self.context = outer

    def quietly(self: Interpreter, leaf: Value, call: Call) -> Value:  # type: ignore[misc]
        """A callback that ends by an exception ends itself, not the code that registered it."""
        try:
            return self.call_one(leaf, call)
        except Diverges:
            return NONE

    def is_wrapper_argument(self, leaf: Value) -> bool:
        return isinstance(leaf, Func) and isinstance(leaf.node, nodes.Lambda) and not isinstance(leaf.node, nodes.FunctionDef)

    def call_object(self: Interpreter, obj: Obj, call: Call) -> Value:  # type: ignore[misc]
        """``obj(...)``: a module's call runs its hooks, then ``forward``."""
        custom = self.find_attr(obj, "__call__")
        if custom is not None:
            return self.call(custom, call)
        forward = self.find_attr(obj, "forward")
        self.called_atoms.add(obj.atom)
        module = obj.atom.facts.get("module")
        if self.any_sharded and (module or forward is not None or self.in_sharded(obj) or obj.atom.facts.get("wrapper")):
            self.emit("called", call.node, obj, method="__call__", hooked=True, inside=tuple(self.inside))
        if forward is not None:
            self.inside.append(obj)
            try:
                return self.call_declared(obj, "forward", forward, call)
            finally:
                self.inside.pop()
        inner = self.store.get((obj, "module")) if obj.atom.facts.get("wrapper") else None
        if inner is not None:
            return self.call(inner, call)
        held = modules.contents(self, obj)
        if held is not None:
            for _, item in self.listing(held).items:
                self.call(item, call)
        elif not module and not self.harmless_object(obj):
            self.opened(describe(obj), call)
            return self.made_by(obj, describe(obj), call)
        return obj.child(("()", "", tuple(call.args) if len(call.args) < 3 else len(call.args)))

    def made_by(self: Interpreter, maker: Obj, words: str, call: Call) -> Value:  # type: ignore[misc]
        """What unknown code returned: an object of its own, different at each call."""
        kind = maker.atom.kind if maker.atom.kind in ("opaque", "configuration") else "opaque" if not self.harmless_object(maker) else "unknown"
        atom = Atom(kind, origin=words, site=self.site(call.node))
        if optim.owners(self, TupleV(tuple(call.all))):
            optim.created(self, atom.root, call, proven=False)
        return atom.root

    def harmless_object(self: Interpreter, obj: Obj) -> bool:  # type: ignore[misc]
        atom = obj.atom
        if atom.kind in ("opaque", "parameter") or atom.facts.get("framework"):
            return False
        cls = self.class_of(obj)
        if cls is not None:
            return all(isinstance(base, ClassV) or isinstance(base, Ext) and self.harmless(base.qname) for base in self.mro(cls))
        return True

    def call_unresolved_method(self: Interpreter, obj: Obj, name: str, call: Call) -> Value:  # type: ignore[misc]
        special = self.special_method(obj, name, call)
        if special is not None:
            return special
        handler = METHODS.get(name)
        if handler is not None:
            self.called_name = name
            return handler(self, obj, call)
        if not self.harmless_object(obj):
            self.opened(f"{describe(obj)}.{name}()", call, receiver=obj)
        self.callbacks(call)
        if name == "set_device":
            self.emit("device_set", call.node, None, name=name, index=call.arg(0, "device"), scoped=False)
        if name.startswith(_BUILDERS) or optim.owners(self, TupleV(tuple(call.all))):
            return self.made_by(obj, f"{describe(obj)}.{name}()", call)
        return obj.child(("()", name, tuple(call.args) if len(call.args) < 3 else len(call.args)))

    def special_method(self: Interpreter, obj: Obj, name: str, call: Call) -> Value | None:  # type: ignore[misc]
        atom = obj.atom
        if name == "forward" and self.any_sharded:
            self.entered(obj, name, call)
            return obj.child(("()", name, len(call.args)))
        found = framework_method(self, obj, name, call)
        if found is not None:
            return found
        if atom.origin == "DeviceMesh" and name in ("get_rank", "get_local_rank"):
            return rank.GLOBAL if name == "get_rank" and obj.parent is None else Rank("group")
        if atom.kind == "configuration" and atom.origin.startswith("argparse"):
            return self.argparse_method(obj, name, call)
        return None

    def argparse_method(self, obj: Obj, name: str, call: Call) -> Value | None:
        if name == "add_argument":
            flags = [value.value for value in call.args if isinstance(value, Const) and isinstance(value.value, str)]
            long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
            given = call.arg(None, "dest")
            dest = given.value if isinstance(given, Const) else long.lstrip("-").replace("-", "_")
            if "default" in call.kwargs:
                obj.atom.facts.setdefault("defaults", {})[dest] = call.kwargs["default"]
            return NONE
        if name in ("add_argument_group", "add_mutually_exclusive_group", "parse_args"):
            return obj
        if name == "parse_known_args":
            return TupleV((obj, unknown("further arguments")))
        return None

    def default_of(self, obj: Obj) -> Value | None:
        """The default of a command-line option."""
        defaults = obj.atom.facts.get("defaults")
        return defaults.get(obj.item) if defaults and obj.parent is obj.atom.root else None

    def call_base_method(self: Interpreter, obj: Obj, name: str, call: Call) -> Value:  # type: ignore[misc]
        """``super().name(...)`` where the base class is not project code."""
        cls = self.class_of(obj)
        bases = [base for base in self.mro(cls) if isinstance(base, Ext)] if cls is not None else []
        unknown_base = cls is not None and not all(isinstance(base, ClassV) or isinstance(base, Ext) and self.harmless(base.qname) for base in self.mro(cls))
        if unknown_base:
            self.opened(f"super().{name}()", call, receiver=obj)
        if name == "__init__":
            if any(base.qname in modules.LISTS for base in bases):
                modules.fill_list(self, obj, call)
            elif any(optim.is_optimizer(base.qname) or base.qname == "torch.optim.optimizer.Optimizer" for base in bases) and call.all:
                optim.created(self, obj, call)
            return NONE
        if name == "__setattr__" and len(call.args) == 2 and isinstance(call.args[0], Const):
            self.store.put((obj, str(call.args[0].value)), call.args[1])
            return NONE
        handler = METHODS.get(name)
        if handler is not None:
            self.called_name = name
            return handler(self, obj, call)
        return unknown(f"super().{name}()")

    def call_value_method(self: Interpreter, leaf: Value, name: str, call: Call) -> Value:  # type: ignore[misc]
        if isinstance(leaf, BoundExt):
            return unknown(f"{name}()")
        if isinstance(leaf, (ListV, TupleV)):
            return builtins.list_method(self, leaf, name, call)
        if isinstance(leaf, DictV):
            return builtins.dict_method(self, leaf, name, call)
        if isinstance(leaf, StateDict):
            return state_dict.state_dict_method(self, leaf, name, call)
        if isinstance(leaf, (StateTensor, ParamV)):
            return state_dict.tensor_method(self, leaf, name, call)
        if isinstance(leaf, Loaded):
            return self.new_list([TupleV((Text(False), leaf))], exact=False) if name == "items" else leaf
        if isinstance(leaf, (Const, Text, Rank)):
            return builtins.text_method(self, leaf, name, call)
        if isinstance(leaf, (Func, Bound, Partial)):
            self.callbacks(type(call)(self, call.node, [leaf]))
        return unknown(f"{name}()")

    # -- attributes and items ------------------------------------------------------

    def object_attr(self: Interpreter, obj: Obj, name: str, node: nodes.NodeNG) -> Value:  # type: ignore[misc]
        found = framework_attr(obj, name)
        if found is not None:
            return found
        if name == "_orig_mod" or (name == "module" and self.in_sharded(obj)):
            return obj
        if obj.parent is None and obj.atom.kind == "external" and isinstance(obj.atom.cls, Ext) and obj.atom.cls.qname == "torch.device":
            return {"type": Text(False), "index": obj.atom.facts.get("index") or NONE}.get(name, obj.child(name))
        if name == "__class__":
            return self.class_of(obj) or obj.child(name)
        return obj.child(name)

    def value_attr(self: Interpreter, leaf: Value, name: str) -> Value:  # type: ignore[misc]
        if isinstance(leaf, (StateTensor, ParamV)):
            return leaf if name in ("data", "grad") else (BoundExt(leaf, name) if name == "full_tensor" else unknown(name))
        if isinstance(leaf, (Text, Loaded)):
            return Text(leaf.per_rank)
        if isinstance(leaf, Partial) and name == "func":
            return leaf.func
        if isinstance(leaf, Cond):
            return unknown(name)
        return BoundExt(leaf, name)

    def object_listing(self: Interpreter, obj: Obj) -> Items:  # type: ignore[misc]
        return modules.object_listing(self, obj)

    def item_of(self: Interpreter, obj: Obj, key: Value, node: nodes.NodeNG) -> Value:  # type: ignore[misc]
        custom = self.find_attr(obj, "__getitem__")
        if custom is not None:
            from ..interp.calls import Call

            return self.call(custom, Call(self, node, [key]))
        fields = self.named_fields(obj)
        if isinstance(key, Const) and isinstance(key.value, int) and -len(fields) <= key.value < len(fields):
            return self.get_attr(obj, fields[key.value], node)
        return modules.item_of(self, obj, key)

    def named_fields(self: Interpreter, obj: Obj) -> list[str]:  # type: ignore[misc]
        """The fields of a named tuple, in order."""
        cls = self.class_of(obj)
        if cls is None or not any(base in (Ext("typing.NamedTuple"), Ext("collections.namedtuple")) for base in self.mro(cls)):
            return []
        from ..interp.classes import class_body

        return [name for name, node in class_body(cls.node).items() if isinstance(node, nodes.AnnAssign)]

    def stored_item(self: Interpreter, obj: Obj, key: Value, value: Value, node: nodes.NodeNG) -> None:  # type: ignore[misc]
        inner = "['params']" in obj.path or key == Const("params")
        if inner and any(at in self.optimizers for at in obj.above):
            self.emit("remapped", node, next(at for at in obj.above if at in self.optimizers))
        modules.stored_item(self, obj, key, value, node)

    def part_of(self, leaf: Value) -> Value:
        if isinstance(leaf, (Loaded, StateTensor)):
            return leaf
        if isinstance(leaf, StateDict):
            return Text(False)
        if isinstance(leaf, ParamV):
            return leaf
        return unknown("a part of a value")

    def environment(self, key: Value) -> Value:
        return rank.environment(key)

    def external_is_module(self, qname: str) -> bool | None:
        return modules.external_is_module(qname)

    # -- modules -------------------------------------------------------------------

    def address(self, obj: Obj) -> Address:
        return address(obj, self.parents)

    def relation(self, mine: Obj, other: Obj) -> Relation:
        return relation(self.address(mine), self.address(other))

    def adopt(self, holder: Obj, name: str, value: Value) -> None:
        for _, leaf in self.alternatives(value):
            if isinstance(leaf, Obj) and leaf not in self.parents and leaf is not holder and self.could_be_module(leaf):
                if self.address(holder)[0] is not leaf.atom or leaf.parent is not None and holder not in leaf.above:
                    taken = sum(1 for parent, item in self.parents.values() if parent is holder and is_each(item)) if name == EACH else 0
                    self.adopted_at[leaf] = self.now
                    self.parents[leaf] = (holder, f"[*{taken + 1}]" if taken else name)

    def could_be_module(self, obj: Obj) -> bool:
        facts = obj.atom.facts
        if obj.atom.kind in ("instance", "external"):
            return bool(facts.get("module") or facts.get("parameter") is not None or obj.parent is not None)
        return obj.atom.kind in ("unknown", "opaque", "parameter")

    def plain_field(self, obj: Obj) -> bool:
        """A setting that a module keeps (``self.config = config``), not a part of it: nothing calls it."""
        return obj.atom not in self.called_atoms and obj.atom.kind != "opaque"

    def attached(self: Interpreter, owner: Obj, name: str, value: Value, node: nodes.NodeNG) -> None:  # type: ignore[misc]
        """An attribute is set: modules adopt their parts, and late parts are recorded."""
        if owner.atom.facts.get("module"):
            self.adopt(owner, name, value)
        if self.any_sharded and self.in_sharded(owner):
            for _, leaf in self.alternatives(value):
                if isinstance(leaf, Obj) and self.adopted_at.get(leaf, self.now) < self.now:
                    continue  # it is a part of some module already, and is only put back
                if isinstance(leaf, Obj) and leaf.parent is None and (leaf.atom.facts.get("module") or leaf.atom.facts.get("parameter")):
                    self.emit("attached", node, owner, name=name, value=leaf)

    def in_sharded(self, obj: Obj) -> bool:
        """Is something of the same outermost object sharded by now?"""
        at: Obj | None = obj
        seen: set[Obj] = set()
        while at is not None and at not in seen:
            if at.atom in self.sharded_atoms:
                return True
            seen.add(at)
            adopted = self.parents.get(at) or self.parents.get(at.atom.root)
            at = adopted[0] if adopted is not None else None
        return False

    def constructed(self: Interpreter, obj: Obj, cls: ClassV, call: Call) -> None:  # type: ignore[misc]
        if any(isinstance(base, Ext) and framework_of(base.qname) for base in self.mro(cls)):
            who = next(framework_of(base.qname) for base in self.mro(cls) if isinstance(base, Ext) and framework_of(base.qname))
            self.emit("managed", call.node, obj, who=who)

    def entered(self: Interpreter, obj: Obj, name: str, call: Call) -> None:  # type: ignore[misc]
        """A method of an object is called by name, past ``__call__`` and its hooks."""
        if not self.any_sharded or self.store.get((obj, name)) is not None:
            return
        if any(step["method"] == name and step.subject is obj for step in self.trace.of("registered")):
            self.emit("called", call.node, obj, method=name, hooked=True, inside=tuple(self.inside))
        elif name == "forward":
            self.emit("called", call.node, obj, method=name, hooked=False, inside=tuple(self.inside))

    def annotated_external(self: Interpreter, obj: Obj, module: Module, annotation: nodes.NodeNG) -> None:  # type: ignore[misc]
        """A parameter that is annotated as an optimizer was built by a caller that is not seen."""
        if isinstance(annotation, (nodes.Name, nodes.Attribute)):
            value = self.in_module(module, lambda: self.eval(annotation))
            if isinstance(value, Ext) and (value.qname == "torch.optim.optimizer.Optimizer" or optim.is_optimizer(value.qname)):
                obj.atom.facts["given optimizer"] = True

    def given(self: Interpreter, func: Func, bound: dict[str, Value]) -> None:  # type: ignore[misc]
        """A function takes a model and a finished optimizer: that holds what the model has by then."""
        handed = [value for value in bound.values() if isinstance(value, Obj) and value.parent is None and value.atom.kind == "parameter"]
        for obj in handed:
            if obj.atom.facts.get("given optimizer") and obj not in self.optimizers:
                self.optimizers.add(obj)
                held = tuple(optim.Held(other, self.now, TOP) for other in handed if other is not obj)
                self.emit("optimizer", func.node, obj, held=held, complete=True, proven=True, given=True)

    def surely_lacks(self: Interpreter, obj: Obj, name: str) -> bool:  # type: ignore[misc]
        if obj.parent is not None or hasattr_of_module(name, obj):
            return False
        cls = self.class_of(obj)
        if cls is None:
            own = obj.atom.cls
            return isinstance(own, Ext) and own.qname.startswith("torch.nn.") and name not in _LAYER_NAMES
        return obj.atom.cls is cls and self.closed_class(cls)

    def is_sharded_formula(self, obj: Obj) -> Any:
        """``isinstance(m, FSDPModule)``: decided where the trace decides it."""
        steps = [step for step in self.trace.of("sharded") if any(self.relation(part, obj) is Relation.SAME for part in step["group"])]
        if any(self.guard.implies(step.guard) for step in steps):
            return True
        related = [step for step in self.trace.of("sharded") if any(self.relation(part, obj) is not Relation.NONE for part in step["group"])]
        if not related and obj.parent is None and obj.atom.kind == "instance":
            return False
        return ("truth", ("sharded", obj, len(related)))

    def isinstance_formula(self: Interpreter, obj: Obj, classes: list[Value]) -> Any:  # type: ignore[misc]
        names = [cls.qname for cls in classes if isinstance(cls, Ext)]
        if "torch.distributed.fsdp.FSDPModule" in names:
            return self.is_sharded_formula(obj)
        cls = self.class_of(obj)
        if cls is not None and obj.item != BELOW:
            order = self.mro(cls)
            if any(wanted in order for wanted in classes):
                return True
            if "torch.nn.Module" in names and self.is_module_class(cls):
                return True
            constructed = obj.parent is None and obj.atom.cls is cls  # a declared class may be a subclass
            if constructed and self.closed_class(cls) and all(isinstance(wanted, (ClassV, Ext)) for wanted in classes):
                return False
        own = obj.atom.cls
        if obj.parent is None and isinstance(own, Ext) and obj.atom.facts.get("module"):
            if own in classes or "torch.nn.Module" in names:
                return True
            if all(isinstance(wanted, ClassV) or isinstance(wanted, Ext) and wanted.qname.startswith("torch.nn.") for wanted in classes) and own.qname.startswith("torch.nn."):
                return own.qname == "torch.nn.Sequential" and False
        return ("truth", ("isinst", obj, tuple(sorted(classes, key=str))))

    def frozen(self: Interpreter, leaf: ParamV, switch: Value, node: nodes.NodeNG) -> None:  # type: ignore[misc]
        for _, model in self.alternatives(leaf.model):
            if isinstance(model, Obj):
                modules.freeze(self, model, switch, node)

    # -- with, bare statements -------------------------------------------------------

    def enter_manager(self: Interpreter, value: Value, node: nodes.NodeNG) -> Value:  # type: ignore[misc]
        if isinstance(value, Obj):
            if value.parent is None and "device_manager" in value.atom.facts:
                self.emit("device_set", node, None, name=value.atom.origin, index=value.atom.facts["device_manager"], scoped=True)
            elif value.parent is None and "device" in value.atom.facts:
                device.touch(self, node, value)
            method = self.find_attr(value, "__enter__")
            if method is not None:
                from ..interp.calls import Call

                return self.call(method, Call(self, node, []))
        return value

    def leave_manager(self: Interpreter, value: Value, node: nodes.NodeNG) -> None:  # type: ignore[misc]
        method = self.find_attr(value, "__exit__") if isinstance(value, Obj) else None
        if method is not None:
            from ..interp.calls import Call

            self.call(method, Call(self, node, [NONE, NONE, NONE]))

    def discarded(self: Interpreter, node: nodes.Expr, value: Value) -> None:  # type: ignore[misc]
        device.discarded(self, node, value)


def hasattr_of_module(name: str, obj: Obj) -> bool:
    """Names that every ``nn.Module`` has."""
    return bool(obj.atom.facts.get("module") is not False) and name in _MODULE_NAMES


_LAYER_NAMES = frozenset(
    """weight bias in_features out_features num_embeddings embedding_dim padding_idx normalized_shape eps elementwise_affine
    kernel_size stride padding dilation groups in_channels out_channels num_heads embed_dim in_proj_weight out_proj num_features
    running_mean running_var layers num_layers hidden_size input_size p inplace dim approximate module""".split()
)  # fmt: skip
_MODULE_NAMES = frozenset({"training", "parameters", "modules", "state_dict", "forward", "to", "device", "config"})


def describe(obj: Obj) -> str:
    """An object in the words of the source."""
    words = obj.atom.origin or obj.atom.kind
    for item in obj.path:
        words += item if isinstance(item, str) and item.startswith("[") else f".{item}" if isinstance(item, str) else "(…)"
    return words


__all__ = ["FALL", "Items", "TorchModel", "describe"]
