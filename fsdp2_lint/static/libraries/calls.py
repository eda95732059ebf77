"""Calls of what other packages have, and of their objects."""

from __future__ import annotations

from functools import partial

from ..domain import events
from ..domain.says import Says
from ..domain.values import NONE, SOME, AbstractObject, Ext, Obj, TupleV, Value, unknown
from ..frontend.packages import builds_models, is_listed, is_of_python, is_optimizer
from ..interpreter.call import Call
from . import adapters  # noqa: F401 (they register)
from .computed import computed
from .frameworks import call_framework, framework_of
from .objects import Objects
from .python import (  # noqa: F401 (they register)
    arguments,
    attempts,
    builtins,
    calculation,
    commands,
    copies,
    dynamic,
    patterns,
    pytrees,
    records,
    reflection,
    standard_library,
    value_methods,
)
from .tables import EXTERNALS, METHODS, OBSERVERS
from .torch.forward import uses
from .torch.initialisation import blank, draws, slices  # noqa: F401 (they register)
from .torch.launch import device
from .torch.migration import (
    versions,  # noqa: F401 (they register)
)
from .torch.precision import dtypes
from .torch.ranks import collectives, data, groups, own_sources, rank, seeds  # noqa: F401 (they register)
from .torch.sharding import module_tree, modules, parameters, sizes
from .torch.training import dtensors, optim, steps  # noqa: F401 (they register)
from .words import describe

_NEVER_CALL = (
    "builtins.", "inspect.", "typing.", "functools.", "types.", "logging.", "warnings.", "dataclasses.",
    "operator.", "weakref.", "atexit.", "signal.", "torch.library.", "torch._dynamo.", "torch.compiler.",
    "torch.utils.data.", "torch.fx.",
)  # fmt: skip
_SPAWNING = ("torch.multiprocessing.spawn", "torch.multiprocessing.start_processes")
_CONFIGURATIONS = (
    "argparse.ArgumentParser", "json.load", "yaml.", "omegaconf.", "tomli.", "tomllib.", "toml.", "tyro.",
    "transformers.HfArgumentParser", "simple_parsing.", "jsonargparse.", "configparser.", "ml_collections.",
    "draccus.", "dacite.", "hydra.compose",
)  # fmt: skip
# Which of them read a file that does not change from one run to the next.
_FILES = ("json.load", "yaml.", "omegaconf.OmegaConf.load", "tomli.", "tomllib.", "toml.", "configparser.")


class Calls(Objects):
    def call_external(self, qname: str, call: Call) -> Value:
        """By the function that is registered for it; else as one of which its package says what it does."""
        handler = EXTERNALS.get(qname)
        call.name = qname
        self.machine.reads += 1  # it may do another thing to a model that was sharded, emptied or moved meanwhile
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
        atom = AbstractObject(kind, origin=qname, site=self.machine.site(call.node))
        atom.shared = kind == "configuration"
        foreign_package = package != "torch" and not is_of_python(qname)
        if qname.startswith(_FILES) or kind != "configuration" and foreign_package and call.fixed:
            atom.said_by = Says.UNREAD
        blank.made_by_library(self.machine, atom.root, qname, call.node)
        if package == "torch":
            sizes.note_tensor(self.machine, atom, qname, call)
        if package in ("torch", "math"):
            computed(self.machine, atom.root, qname, call.all)
        own_sources.made_by_call(self.machine, atom.root, qname, call)
        dtypes.loaded_in(self.machine, atom, qname, call)
        modules.mapped(self.machine, atom.root, call)
        parameters.quantized(self.machine, call)
        if qname.startswith("torch.") and qname.endswith("GradScaler"):
            atom.scaler = True
        foreign = self.foreign_functions(call)
        if not harmless or foreign:
            self.havoc(qname if not harmless else foreign[0], handed)
            atom.keeps = tuple(handed.all)
        elif builds_models(qname):
            atom.keeps = tuple(handed.all)
            groups.given(self.machine, f"{qname}()", call)
        if foreign_package and optim.owners(self.machine, TupleV(tuple(call.all))):
            optim.created(self.machine, atom.root, call, proven=False)
        return atom.root

    def foreign_functions(self, call: Call) -> list[str]:
        """What a call is given to call that may do anything."""
        leaves = [leaf for value in call.all for leaf in self.machine.inside(value)]
        return [leaf.qname for leaf in leaves if isinstance(leaf, Ext) and not self.harmless(leaf.qname)]

    def call_object(self, obj: Obj, call: Call) -> Value:
        """``obj(...)``: a module's call runs its hooks, then ``forward``."""
        if obj.item == "__class__":  # another one of its class
            return unknown(describe(obj))
        if (made := commands.called(self.machine, obj, call)) is not None:
            return made
        holder = obj.parent
        if holder is not None and (
            obj.item in METHODS or obj.item == "reset_parameters" or patterns.is_asked_of(holder, obj.item)
        ):
            return self.call_unresolved_method(holder, str(obj.item), call)  # looked up before, called now
        if self.by_computed_name(obj):
            self.havoc(describe(obj), self.handed_over(call), receiver=obj.parent)
        if (custom := self.machine.find_attr(obj, "__call__")) is not None:
            return self.machine.call(custom, call)
        forward = self.machine.find_attr(obj, "forward")
        self.called_atoms.add(obj.atom)
        module = obj.atom.module
        if self.any_sharded and (module or forward is not None or self.in_sharded(obj) or obj.atom.wrapper):
            circumstances = uses.circumstances(self.machine)
            called = events.Called(
                method="__call__", hooked=True, args=tuple(call.all), open_why=call.open_why, **circumstances
            )
            self.machine.emit(called, call.node, obj)
        if forward is not None:
            made = self.behind_hooks(obj, lambda: self._forward(obj, forward, call))
            dtypes.returned(self.machine, obj, made)
            return made
        inner = self.machine.store.get((obj, obj.atom.wrapper)) if obj.atom.wrapper else None
        if inner is not None:
            return self.machine.call(inner, call)
        if (held := module_tree.contents(self.machine, obj)) is not None:
            for _, item in self.machine.listing(held).items:
                self.behind_hooks(obj, partial(self.machine.call, item, call))
        elif not module:
            if obj.parent is not None and isinstance(obj.item, str) and obj.item.isidentifier() and not call.all:
                return self.call_unresolved_method(obj.parent, obj.item, call)  # no part, which would be given an input
            if not self.harmless_object(obj) or self.has_effects(obj, call) or obj.atom.kind == "configuration":
                self.havoc(describe(obj), self.handed_over(call), receiver=obj)
            elif not is_listed(obj.atom.origin):
                self.unfollowed[describe(obj), call.node] = None  # such as what vars() gave, by a computed name
            blank.written(self.machine, call.node, call.all)
            return self.made_by(obj, describe(obj), call)
        return call.result(obj)

    def _forward(self, obj: Obj, forward: Value, call: Call) -> Value:
        return uses.plain(self.machine, self.machine.call_declared(obj, "forward", forward, call))

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
        atom = AbstractObject(kind, origin=words, site=self.machine.site(call.node))
        if maker.atom.said_by is Says.UNREAD and call.fixed:
            atom.said_by = Says.UNREAD
        if kind == "opaque":
            atom.keeps = (maker, *call.all)
        if optim.owners(self.machine, TupleV(tuple(call.all))):
            optim.created(self.machine, atom.root, call, proven=False)
        return atom.root

    def has_effects(self, obj: Obj, call: Call) -> bool:
        """Is this data that is handed a model, or code to run on one? Then what is called is no data."""
        if self.foreign_functions(call):
            return True
        return obj.atom.kind == "configuration" and any(map(self.matters_whole, self.changeable(call.all)))
