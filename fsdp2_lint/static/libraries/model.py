"""What the interpreter asks of torch: calls, attributes and items of objects that are not project code."""

from __future__ import annotations

from functools import partial

from ..domain import events
from ..domain.values import (
    NONE,
    SOME,
    Atom,
    Bound,
    BoundExt,
    ClassV,
    Computed,
    Const,
    DictV,
    Ext,
    Func,
    ListV,
    Loaded,
    Obj,
    ParamV,
    Partial,
    Rank,
    StateDict,
    StateTensor,
    Text,
    TupleV,
    Value,
    taken_out,
    unknown,
)
from ..frontend.packages import is_listed, is_of_python, is_optimizer
from ..interpreter.call import Call
from . import adapters  # noqa: F401 (they register)
from .escapes import describe
from .frameworks import call_framework, framework_method, framework_of
from .objects import Objects
from .python import (  # noqa: F401 (they register)
    arguments,
    attempts,
    builtins,
    calculation,
    copies,
    dynamic,
    named_tuples,
    pytrees,
    records,
    reflection,
    signatures,
    value_methods,
)
from .tables import EXTERNALS, IN_PLACE, METHOD_OBSERVERS, METHODS, OBSERVERS, TENSOR_METHODS
from .torch.checkpoints import state_dict
from .torch.forward import uses
from .torch.initialisation import blank, slices  # noqa: F401 (they register)
from .torch.launch import device
from .torch.migration import api, fsdp1_methods, migration  # noqa: F401 (they register)
from .torch.precision import dtypes, precision, scalers  # noqa: F401 (they register)
from .torch.ranks import collectives, data, rank, seeds  # noqa: F401 (they register)
from .torch.sharding import (  # noqa: F401 (they register)
    composition,
    module_tree,
    modules,
    parameters,
    pipelines,
    sharding,
    sizes,
)
from .torch.training import dtensors, optim, steps  # noqa: F401 (they register)

_PICKS = frozenset({"chunk", "split", "tensor_split", "narrow", "shard", "select", "index_select", "take"})
# Packages that look at functions or keep them, but do not call them while a model is set up.
_NEVER_CALL = (
    "builtins.", "inspect.", "typing.", "functools.", "types.", "logging.", "warnings.", "dataclasses.",
    "operator.", "weakref.", "atexit.", "signal.", "torch.library.", "torch._dynamo.", "torch.compiler.",
    "torch.utils.data.", "torch.fx.",
)  # fmt: skip
_SPAWNING = ("torch.multiprocessing.spawn", "torch.multiprocessing.start_processes")
_CHANGES_A_DICT = ("update", "pop", "popitem", "clear", "setdefault")
_CONFIGURATIONS = (
    "argparse.ArgumentParser", "json.load", "yaml.", "omegaconf.", "tomli.", "tomllib.", "toml.", "tyro.",
    "transformers.HfArgumentParser", "simple_parsing.", "jsonargparse.", "configparser.", "ml_collections.",
    "draccus.", "dacite.",
)  # fmt: skip


class TorchModel(Objects):
    # -- calls -------------------------------------------------------------------

    def call_external(self, qname: str, call: Call) -> Value:
        handler = EXTERNALS.get(qname)
        call.name = qname
        for observe in OBSERVERS:
            observe(self.machine, qname, call)
        if handler is not None:
            return handler(self.machine, call)
        if (
            qname.endswith(".__init__")
            and is_optimizer(qname[: -len(".__init__")])
            and call.args
            and isinstance(call.args[0], Obj)
        ):
            optim.created(self.machine, call.args[0], Call(call.node, call.args[1:], call.kwargs, call.open_why))
            return NONE
        if is_optimizer(qname):
            return optim.make_optimizer(self.machine, qname, call)
        if module_tree.external_is_module(qname) and qname.startswith("torch.nn."):
            return module_tree.make_external_module(self.machine, qname, call)
        if framework_of(qname):
            return call_framework(self.machine, qname, call)
        return self.call_other(qname, call)

    def call_other(self, qname: str, call: Call) -> Value:
        """Some function of another package."""
        package = qname.split(".")[0]
        if package == "torch" and "device" in call.kwargs:
            device.touch(self.machine, call.node, call.kwargs["device"])
        handed = call if qname.startswith(_NEVER_CALL) else self.handed_over(call, spawned=qname in _SPAWNING)
        harmless = self.harmless(qname)
        kind = "configuration" if qname.startswith(_CONFIGURATIONS) else "unknown" if harmless else "opaque"
        atom = Atom(kind, origin=qname, site=self.machine.site(call.node))
        atom.shared = kind == "configuration"
        blank.made_by_library(self.machine, atom.root, qname, call.node)
        if package == "torch":
            sizes.note_tensor(self.machine, atom, qname, call)
        dtypes.loaded_in(self.machine, atom, call)
        parameters.quantized(self.machine, call)
        if qname.startswith("torch.") and qname.endswith("GradScaler"):
            atom.scaler = True
        foreign = self.foreign_functions(call)
        if not harmless or foreign:
            self.opened(qname if not harmless else foreign[0], handed)
            atom.keeps = tuple(handed.all)
        foreign_package = package != "torch" and not is_of_python(qname)
        if foreign_package and optim.owners(self.machine, TupleV(tuple(call.all))):
            optim.created(self.machine, atom.root, call, proven=False)
        return atom.root

    def foreign_functions(self, call: Call) -> list[str]:
        """What a call is given to call that may do anything."""
        leaves = [leaf for value in call.all for _, leaf in self.machine.leaves(value)]
        return [leaf.qname for leaf in leaves if isinstance(leaf, Ext) and not self.harmless(leaf.qname)]

    def call_object(self, obj: Obj, call: Call) -> Value:
        """``obj(...)``: a module's call runs its hooks, then ``forward``."""
        if obj.item == "__class__":  # another one of its class
            return unknown(describe(obj))
        if obj.parent is not None and (obj.item in METHODS or obj.item == "reset_parameters"):
            return self.call_unresolved_method(obj.parent, str(obj.item), call)  # looked up before, called now
        if self.by_computed_name(obj):
            self.opened(describe(obj), self.handed_over(call), receiver=obj.parent)
        custom = self.machine.find_attr(obj, "__call__")
        if custom is not None:
            return self.machine.call(custom, call)
        forward = self.machine.find_attr(obj, "forward")
        self.called_atoms.add(obj.atom)
        module = obj.atom.module
        if self.any_sharded and (module or forward is not None or self.in_sharded(obj) or obj.atom.wrapper):
            circumstances = uses.circumstances(self.machine)
            self.machine.emit(
                events.Called(method="__call__", hooked=True, args=tuple(call.all), **circumstances), call.node, obj
            )
        if forward is not None:
            made = self.behind_hooks(obj, lambda: self.machine.call_declared(obj, "forward", forward, call))
            dtypes.returned(self.machine, obj, made)
            return made
        inner = self.machine.store.get((obj, obj.atom.wrapper)) if obj.atom.wrapper else None
        if inner is not None:
            return self.machine.call(inner, call)
        held = module_tree.contents(self.machine, obj)
        if held is not None:
            for _, item in self.machine.listing(held).items:
                self.behind_hooks(obj, partial(self.machine.call, item, call))
        elif not module:
            if not self.harmless_object(obj) or self.has_effects(obj, call) or obj.atom.kind == "configuration":
                self.opened(describe(obj), self.handed_over(call), receiver=obj)
            elif not is_listed(obj.atom.origin):
                self.unfollowed[describe(obj), call.node] = None  # such as what vars() gave, by a computed name
            blank.written(self.machine, call.node, call.all)
            return self.made_by(obj, describe(obj), call)
        return obj.child(("()", "", tuple(call.args) if len(call.args) < 3 else len(call.args)))

    def by_computed_name(self, obj: Obj) -> bool:
        """Is it an attribute of a model by a computed name, which may be any method that it has?

        Inside the model's own forward such a name leads to one of its parts.
        """
        owner = obj.parent
        if obj.item != SOME or owner is None or owner in self.inside:
            return False
        return self.machine.class_of(owner) is not None and module_tree.contents(self.machine, owner) is None

    def made_by(self, maker: Obj, words: str, call: Call) -> Value:
        """What unknown code returned: an object of its own, different at each call."""
        kind = (
            maker.atom.kind
            if maker.atom.kind in ("opaque", "configuration")
            else "opaque"
            if not self.harmless_object(maker)
            else "unknown"
        )
        atom = Atom(kind, origin=words, site=self.machine.site(call.node))
        if kind == "opaque":
            atom.keeps = (maker, *call.all)
        if optim.owners(self.machine, TupleV(tuple(call.all))):
            optim.created(self.machine, atom.root, call, proven=False)
        return atom.root

    def call_unresolved_method(self, obj: Obj, name: str, call: Call) -> Value:
        if self.has_only_own_methods(obj):  # what torch means by a method of this name is not meant here
            self.opened(f"{describe(obj)}.{name}()", call, receiver=obj)
            self.callbacks(call)
            return unknown(f"{name}()", kind="opaque")
        api.method_called(self.machine, obj, name, call)
        special = self.special_method(obj, name, call)
        if special is not None:
            return special
        if name in ("clear", "pop", "remove") and obj.item in ("param_groups", "['params']"):
            optim.regrouped(self.machine, obj, call.node)
        if name in ("pop", "get") and call.args and isinstance(call.args[0], Const):
            if self.machine.store.get((obj, taken_out(call.args[0]))) is not None:
                return call.args[1] if len(call.args) > 1 else NONE
            if name == "pop":
                self.machine.store.put((obj, taken_out(call.args[0])), Const(True))
            if name == "get" and len(call.args) == 1 and self.is_mapping_with_attributes(obj, call.args[0].value):
                return self.machine.find_attr(obj, call.args[0].value) or obj.child(call.args[0].value)
        if (found := records.parsed_by(self.machine, obj, name, call)) is not None:
            return found
        handler = METHODS.get(name)
        if handler is not None:
            call.name = name
            return handler(self.machine, obj, call)
        for observe in METHOD_OBSERVERS:
            observe(self.machine, obj, name, call)
        if name in _PICKS:
            self.machine.note_picks(call.all)
        handed = self.handed_over(call)
        if obj.item == "__dict__" and name in _CHANGES_A_DICT:
            self.opened(f"{describe(obj)}.{name}()", handed, receiver=obj.parent)
        elif name not in TENSOR_METHODS and (not self.harmless_object(obj) or self.has_effects(obj, call)):
            self.opened(f"{describe(obj)}.{name}()", handed, receiver=obj)
        if name == "set_device":
            self.machine.emit(events.DeviceSet(name=name, index=call.arg(0, "device"), scoped=False), call.node)
        if optim.owners(self.machine, TupleV(tuple(call.all))) and name not in IN_PLACE:
            return self.made_by(obj, f"{describe(obj)}.{name}()", call)
        return self.answered(obj.child(("()", name, tuple(call.args) if len(call.args) < 3 else len(call.args))))

    def is_mapping_with_attributes(self, obj: Obj, key: object) -> bool:
        """May ``obj.get("key")`` be ``obj.key``, as in OmegaConf and EasyDict? Then conditions on the two are one.

        A program that asks both of one object has such a mapping; in a plain dict there is no ``obj.key`` to confuse.
        """
        plain = obj.atom.kind in ("parameter", "configuration") and not obj.atom.module
        return plain and self.machine.class_of(obj) is None and isinstance(key, str) and key.isidentifier()

    def answered(self, made: Obj) -> Obj:
        """What an unseen method returns. A setting is the same when it is asked for again, which keeps the conditions
        of a program in step with each other; a model that is asked for again may be another one.
        """
        if made in self.answers or self.machine.loops:
            self.answers[made] = None
            self.addresses.clear()
        else:
            self.answers[made] = len(self.answers)
        return made

    def has_effects(self, obj: Obj, call: Call) -> bool:
        """Is this data that is handed a model, or code to run on one? Then what is called is no data."""
        if self.foreign_functions(call):
            return True
        return obj.atom.kind == "configuration" and any(map(self.matters_whole, self.changeable(call.all)))

    def special_method(self, obj: Obj, name: str, call: Call) -> Value | None:
        atom = obj.atom
        if name == "forward" and self.any_sharded:
            self.entered(obj, name, call)
            return obj.child(("()", name, len(call.args)))
        gathering = atom.state(sharding.Gathering) if name == "wait" and obj.parent is None else None
        if gathering is not None:
            self.machine.emit(events.UnshardWaited(), call.node, gathering.of)
            return NONE
        if name == "module" and self.in_sharded(obj):
            migration.module_read(self.machine, obj, call.node.func)
            return self.call_object(obj, call)
        found = framework_method(self.machine, obj, name, call)
        if found is not None:
            return found
        if atom.origin == "DeviceMesh" and name in ("get_rank", "get_local_rank"):
            kind = "global" if name == "get_rank" and obj.parent is None else "group"
            return Rank(kind, self.machine.site(call.node))
        if atom.kind == "configuration" and atom.origin.startswith("argparse"):
            return arguments.parser_method(self.machine, obj, name, call)
        return None

    def default_of(self, obj: Obj) -> Value | None:
        """The default of a command-line option."""
        return arguments.defaults(obj.atom).get(obj.item) if obj.parent is obj.atom.root else None

    def options_of(self, value: Value) -> dict[str, Value] | None:
        """What ``**vars(args)`` hands over; None for anything but all options of a parser."""
        return arguments.options_of(self.machine, value)

    def call_base_method(self, obj: Obj, name: str, call: Call) -> Value:
        """``super().name(...)`` where the base class is not project code."""
        cls = self.machine.class_of(obj)
        bases = [base for base in self.machine.mro(cls) if isinstance(base, Ext)] if cls is not None else []
        unknown_base = cls is not None and not all(
            isinstance(base, ClassV) or isinstance(base, Ext) and self.harmless(base.qname)
            for base in self.machine.mro(cls)
        )
        if unknown_base:
            handed = self.handed_over(call)
            self.opened(f"super().{name}()", handed, receiver=obj)
            obj.atom.keeps = (*obj.atom.keeps, *handed.all)
        if name == "__init__":
            if any(base.qname in module_tree.LISTS for base in bases):
                module_tree.fill_list(self.machine, obj, call)
            elif (
                any(is_optimizer(base.qname) or base.qname == "torch.optim.optimizer.Optimizer" for base in bases)
                and call.all
            ):
                optim.created(self.machine, obj, call)
            elif cls is not None:
                module_tree.built_as_layer(self.machine, obj, cls, call)
            return NONE
        if name == "__setattr__" and len(call.args) == 2 and isinstance(call.args[0], Const):
            self.machine.store.put((obj, str(call.args[0].value)), call.args[1])
            return NONE
        handler = METHODS.get(name)
        if handler is not None:
            call.name = name
            return handler(self.machine, obj, call)
        return unknown(f"super().{name}()")

    def call_value_method(self, leaf: Value, name: str, call: Call) -> Value:
        attempts.note(self.machine, leaf, name)
        if isinstance(leaf, BoundExt):
            return unknown(f"{name}()")
        if isinstance(leaf, (ListV, TupleV)):
            return value_methods.list_method(self.machine, leaf, name, call)
        if isinstance(leaf, DictV):
            return value_methods.dict_method(self.machine, leaf, name, call)
        if isinstance(leaf, StateDict):
            return state_dict.state_dict_method(self.machine, leaf, name, call)
        if isinstance(leaf, (ParamV, Computed)):
            computed = dtensors.tensor_method(self.machine, leaf, name, call)
            if computed is not None:
                return computed
        if isinstance(leaf, (StateTensor, ParamV)):
            return state_dict.tensor_method(self.machine, leaf, name, call)
        if isinstance(leaf, Loaded):
            return self.machine.new_list([TupleV((Text(False), leaf))], exact=False) if name == "items" else leaf
        if isinstance(leaf, (Const, Text, Rank)):
            return value_methods.text_method(self.machine, leaf, name, call)
        if isinstance(leaf, (Func, Bound, Partial)):
            self.callbacks(Call(call.node, [leaf]))
        return unknown(f"{name}()")
