"""What the interpreter asks of torch: calls, attributes and items of objects that are not project code."""

from __future__ import annotations

from astroid import nodes

from ..domain import events
from ..domain.values import (
    NONE,
    Bound,
    BoundExt,
    ClassV,
    Computed,
    Cond,
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
from ..frontend.launchers import RANKS
from ..interpreter.call import Call
from ..interpreter.expressions import own_values, owning
from ..interpreter.frames import Diverges
from . import base_initialisers, pretrained, registered  # noqa: F401 (what is in the latter registers itself)
from .calls import Calls
from .frameworks import framework_method
from .outputs import is_output
from .python import arguments, attempts, commands, configured, own_dicts, patterns, records, value_methods
from .tables import IN_PLACE, METHOD_OBSERVERS, METHODS, TENSOR_METHODS
from .torch.checkpoints import state_dict
from .torch.forward import uses
from .torch.migration import migration, versions
from .torch.ranks import data, groups
from .torch.sharding import sharding
from .torch.training import dtensors, optim, step_hooks
from .words import describe

_PICKS = frozenset({"chunk", "split", "tensor_split", "narrow", "shard", "select", "index_select", "take"})
# Packages that look at functions or keep them, but do not call them while a model is set up.
_CHANGES_A_DICT = ("update", "pop", "popitem", "clear", "setdefault")


class TorchModel(Calls):
    # -- calls -------------------------------------------------------------------

    def call_unresolved_method(self, obj: Obj, name: str, call: Call) -> Value:
        """By the function that is registered for the name; else it may do anything to what it was given."""
        self.machine.reads += 1  # as above all calls of libraries
        if self.has_no_such_method(obj, name):
            self.machine.stops += 1
            raise Diverges
        if self.has_only_own_methods(obj):  # what torch means by a method of this name is not meant here
            self.havoc(f"{describe(obj)}.{name}()", call, receiver=obj)
            self.callbacks(call)
            return unknown(f"{name}()", kind="opaque")
        versions.method_called(self.machine, obj, name, call)
        if (partial := dtensors.reduced(self.machine, obj, name, call)) is not None:
            return partial
        if (special := self.special_method(obj, name, call)) is not None:
            return special
        if (done := own_dicts.updated(self.machine, obj, name, call)) is not None:
            return done
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
        if (found := configured.parts_of_name(self.machine, obj, name, call)) is not None:
            return found
        if (found := patterns.asked(self.machine, obj, name, call)) is not None:
            return found
        if (handler := METHODS.get(name)) is not None:
            call.name = name
            return handler(self.machine, obj, call)
        for observe in METHOD_OBSERVERS:
            observe(self.machine, obj, name, call)
        if name in _PICKS:
            self.machine.note_picks(call.all)
        handed = self.handed_over(call)
        if obj.item == "__dict__" and name in _CHANGES_A_DICT:
            self.havoc(f"{describe(obj)}.{name}()", handed, receiver=obj.parent)
        elif name not in TENSOR_METHODS and (not self.harmless_object(obj) or self.has_effects(obj, call)):
            self.havoc(f"{describe(obj)}.{name}()", handed, receiver=obj)
        elif self.could_be_module(obj) and not is_output(obj):
            groups.given(self.machine, f"{describe(obj)}.{name}()", call)
        if isinstance(cls := self.machine.class_of(obj), ClassV):
            self.kept_by_base(obj, cls, call)
        if name == "set_device":
            self.machine.emit(events.DeviceSet(name=name, index=call.arg(0, "device"), scoped=False), call.node)
        if optim.owners(self.machine, TupleV(tuple(call.all))) and name not in IN_PLACE:
            return self.made_by(obj, f"{describe(obj)}.{name}()", call)
        made = self.answered(call.result(obj, name))
        owning.handed(self.machine, obj, made, call.all, followed=name in TENSOR_METHODS)
        return uses.plain(self.machine, made)

    def kept_by_base(self, obj: Obj, cls: ClassV, call: Call) -> None:
        """A base class that is not seen, and changes nothing, may store what its methods get, under any name."""
        if obj.parent is None and not self.machine.closed_class(cls):
            obj.atom.keeps = (*obj.atom.keeps, *call.all)

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

    def special_method(self, obj: Obj, name: str, call: Call) -> Value | None:
        """What a method means for an object of one kind; None for any other."""
        atom = obj.atom
        if name == "forward" and self.any_sharded:
            self.entered(obj, name, call)
            return obj.child(("()", name, len(call.args)))
        if name in step_hooks.REGISTERS and obj in self.optimizers:
            return step_hooks.registered(self.machine, obj, name, call)
        if name == "remove" and (handle := atom.state(step_hooks.Handle)) is not None:
            return step_hooks.removed(self.machine, handle)
        gathering = atom.state(sharding.Gathering) if name == "wait" and obj.parent is None else None
        if gathering is not None:
            self.machine.emit(events.UnshardWaited(), call.node, gathering.of)
            return NONE
        if name == "module" and self.in_sharded(obj):
            migration.module_read(self.machine, obj, call.node.func)
            return self.call_object(obj, call)
        if (found := framework_method(self.machine, obj, name, call)) is not None:
            return found
        if atom.origin == "DeviceMesh" and name in ("get_rank", "get_local_rank"):
            kind = "global" if name == "get_rank" and obj.parent is None else "group"
            one = kind == "group" and (obj.parent is not None or bool(call.all))
            rank = Rank(kind, self.machine.site(call.node), obj.atom.root if one else None)
            return owning.number_of_rank(self.machine, rank)
        if atom.kind == "configuration" and arguments.is_parser(atom):
            return arguments.parser_method(self.machine, obj, name, call)
        return pretrained.embeddings(obj, name)

    def default_of(self, obj: Obj) -> Value | None:
        """The default of a command-line option."""
        return arguments.defaults(obj.atom).get(obj.item) if obj.parent is obj.atom.root else None

    def decorated(self, by: Ext, func: Func) -> Value | None:
        return commands.group(self.machine, by, func)

    def taken_out(self, part: Value, indices: list[Value], node: nodes.NodeNG) -> None:
        data.picked_by(self.machine, part, indices)
        data.shared_out(self.machine, part, node)
        owning.taken_by(self.machine, part, indices)

    def is_option(self, obj: Obj) -> bool:
        return arguments.is_parser(obj.atom)

    def ended(self) -> None:
        step_hooks.never_run(self.machine)

    def has_one_command_line(self) -> bool:
        return self.launched and not any(self.machine.store.get((Ext("os.environ"), name)) for name in RANKS)

    def options_of(self, value: Value) -> dict[str, Value] | None:
        """What ``**vars(args)`` hands over; None for anything but all options of a parser."""
        return arguments.options_of(self.machine, value)

    def call_base_method(self, obj: Obj, name: str, call: Call) -> Value:
        """``super().name(...)`` where the base class is not project code."""
        cls = self.machine.class_of(obj)
        unknown_base = cls is not None and not all(
            isinstance(base, ClassV) or isinstance(base, Ext) and self.harmless(base.qname)
            for base in self.machine.mro(cls)
        )
        if unknown_base:
            handed = self.handed_over(call)
            self.havoc(f"super().{name}()", handed, receiver=obj)
            obj.atom.keeps = (*obj.atom.keeps, *handed.all)
        elif cls is not None:
            self.kept_by_base(obj, cls, call)
        if name == "__init__":
            base_initialisers.run(self.machine, obj, cls, call)
            return NONE
        if name == "__setattr__" and len(call.args) == 2 and isinstance(call.args[0], Const):
            self.machine.store.put((obj, str(call.args[0].value)), call.args[1])
            return NONE
        if (handler := METHODS.get(name)) is not None:
            call.name = name
            return handler(self.machine, obj, call)
        if name == "forward" and obj.atom.module:  # what a layer returns that does more before, or behind
            return call.result(obj)
        return unknown(f"super().{name}()")

    def call_value_method(self, leaf: Value, name: str, call: Call) -> Value:
        """Unknown results for methods that have no function here."""
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
            if (computed := dtensors.tensor_method(self.machine, leaf, name, call)) is not None:
                return computed
        if isinstance(leaf, (StateTensor, ParamV)):
            return state_dict.tensor_method(self.machine, leaf, name, call)
        if isinstance(leaf, Loaded):
            return self.machine.new_list([TupleV((Text(False), leaf))], exact=False) if name == "items" else leaf
        if isinstance(leaf, (Const, Text, Rank)):
            return value_methods.text_method(self.machine, leaf, name, call)
        if isinstance(leaf, (Func, Bound, Partial)):
            self.callbacks(Call(call.node, [leaf]))
        made = unknown(f"{name}()")
        if isinstance(leaf, Cond) and name not in own_values.ABOUT:  # (x > 3).any()
            owning.passed_on(self.machine, made, [leaf])
        return made
