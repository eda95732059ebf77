"""Calls: project functions are followed with their actual arguments, within bounds."""

from __future__ import annotations

from astroid import nodes

from ...budget import BUDGET
from ...domain.choices import choose, keyword, options
from ...domain.path_conditions import TRUE
from ...domain.says import Says
from ...domain.values import (
    Bound,
    BoundExt,
    ClassV,
    Const,
    DictV,
    Ext,
    Func,
    GuardedUnion,
    ModRef,
    Obj,
    Partial,
    Super,
    Value,
    unknown,
)
from ..call import UNREAD_KEYWORDS, Call, Spread
from ..expressions import domains, enums, flags
from ..frames import Diverges
from ..machine import L
from ..syntax import class_body
from . import class_tables
from .class_tables import SUBCLASSES
from .functions import Functions

EXITS = frozenset({"sys.exit", "os._exit", "builtins.exit", "builtins.quit", "os.abort"})


def _code(call: Call) -> object:
    """With what a process ends: 0 and None mean that all is well, so that the other ranks go on without it."""
    code = call.args[0] if call.args else Const(None)
    return code.value if isinstance(code, Const) else code


class Calls(Functions[L]):
    def eval_Call(self, node: nodes.Call) -> Value:
        func = node.func
        if isinstance(func, nodes.Name) and func.name == "super" and self.frame.receiver is not None:
            return self.super_value(node)
        if isinstance(func, nodes.Attribute):
            receiver = self.eval(func.expr)
            args, kwargs, why = self.arguments(node)
            return self.over(
                receiver, lambda leaf: self.call_method(leaf, func.attrname, Call(node, args, kwargs, why))
            )
        callee = self.eval(func)
        args, kwargs, why = self.arguments(node)
        call = Call(node, args, kwargs, why)
        return self.over(callee, lambda leaf: self.call_looked_up(leaf, call))

    def call_looked_up(self, leaf: Value, call: Call) -> Value:
        """``run = model.forward; run(x)`` is a call of that method, past the hooks of the module."""
        if isinstance(leaf, Func) and not self.fits(leaf, call):
            self.stops += 1
            raise Diverges  # TypeError: nothing of the function runs
        if isinstance(leaf, Bound) and isinstance(leaf.receiver, Obj) and self.is_method_of(leaf, leaf.receiver):
            return self.call_method(leaf.receiver, leaf.func.name, call)
        return self.call_one(leaf, call)

    def is_method_of(self, leaf: Bound, receiver: Obj) -> bool:
        cls = self.class_of(receiver) if leaf.func.name == "forward" else None
        if cls is None or self.store.get((receiver, "forward")) is not None:
            return False
        found = self.class_member(cls, "forward")
        return found is not None and found[1] is leaf.func.node

    def arguments(self, node: nodes.Call) -> tuple[list[Value], dict[str, Value], str]:
        """Positional and keyword arguments, and why there may be more than were seen."""
        args: list[Value] = []
        kwargs: dict[str, Value] = {}
        why = ""
        for part in node.args:
            if isinstance(part, nodes.Starred):
                held = self.listing(self.eval(part.value))
                args += [choose([item]) if item[0] is TRUE else item[1] for item in held.items]
                why = why or held.open_why or ("" if held.exact else "*arguments of unknown number")
            else:
                args.append(self.eval(part))
        for named in node.keywords:
            value = self.eval(named.value)
            if named.arg is not None:
                kwargs[named.arg] = value
            else:
                more = self.spread_keywords(value, kwargs)
                why = str(more or why) if why else more  # out of which of them a keyword comes is not known
        return args, kwargs, why

    def spread_keywords(self, value: Value, into: dict[str, Value]) -> str:
        """``**value``: a keyword that is only there on some paths is a guarded choice."""
        why = ""
        alternatives = self.alternatives(value)
        for guard, leaf in alternatives:
            if (known := self.libraries.options_of(leaf)) is not None:
                into.update(known)
                continue
            if not isinstance(leaf, DictV):
                why = UNREAD_KEYWORDS if _unread(leaf) else "**keywords that were not followed"
                if isinstance(leaf, Obj) and len(alternatives) == 1 and leaf.atom.kind not in ("parameter", "opaque"):
                    why = Spread.out_of(leaf, why)
                continue
            entries = self.entries(leaf)
            why = entries.open_why or why if len(alternatives) == 1 else str(entries.open_why or why)
            for key, path, item in entries.entries:
                joined = guard.join(path)
                if joined is None or not self.guard.compatible(joined):
                    continue
                if isinstance(key, Const) and isinstance(key.value, str):
                    found = [*options(into[key.value]), (joined, item)] if key.value in into else [(joined, item)]
                    into[key.value] = keyword(found, self.guard)
                else:
                    why = UNREAD_KEYWORDS if _unread(item) else "**keywords with computed names"
        return why

    def call(self, callee: Value, call: Call) -> Value:
        return self.over(callee, lambda leaf: self.call_one(leaf, call))

    def call_one(self, leaf: Value, call: Call) -> Value:
        """Each kind of callable; one that is not known may do anything."""
        if isinstance(leaf, Func):
            return self.call_function(leaf, call.args, call.kwargs, call.node, why=call.open_why)
        if isinstance(leaf, Bound):
            return self.call_function(
                leaf.func, call.args, call.kwargs, call.node, receiver=leaf.receiver, why=call.open_why
            )
        if isinstance(leaf, ClassV):
            one = len(call.args) == 1 and not call.kwargs
            if one and enums.is_enumeration(self, leaf):
                return enums.by_value(self, leaf, call.args[0])
            return (
                flags.by_value(self, leaf, call.args[0])
                if one and flags.is_flags(self, leaf)
                else self.construct(leaf, call)
            )
        if isinstance(leaf, Partial):
            merged = Call(call.node, [*leaf.args, *call.args], {**dict(leaf.kwargs), **call.kwargs}, call.open_why)
            return self.call(leaf.func, merged)
        if isinstance(leaf, Ext):
            if leaf.qname in EXITS:
                self.stops += 1
                self.frame.refuses = True
                self.quiet_exits += _code(call) in (0, None)
                raise Diverges
            return self.libraries.call_external(leaf.qname, call)
        if isinstance(leaf, BoundExt):
            return self.call_method(leaf.receiver, leaf.name, call)
        if isinstance(leaf, Obj):
            return self.libraries.call_object(leaf, call)
        if not isinstance(leaf, Const):
            self.libraries.havoc("a call of what is not known", call)
        return unknown("the result of a call")

    def call_method(self, receiver: Value, name: str, call: Call) -> Value:
        """A method of the project where one is found, else one of a library."""
        if isinstance(receiver, GuardedUnion):
            return self.over(receiver, lambda leaf: self.call_method(leaf, name, call))
        if isinstance(receiver, Obj):
            found = self.find_attr(receiver, name)
            if found is not None:
                hooked = self.libraries.entered(receiver, name, call)
                if name == "step" and self.libraries.updates_itself(receiver):
                    return self.libraries.call_unresolved_method(receiver, name, call)
                if hooked:
                    return self.libraries.behind_hooks(
                        receiver, lambda: self.call_declared(receiver, name, found, call)
                    )
                return self.call_declared(receiver, name, found, call)
            looked_up = self.looked_up_by_class(receiver, name, call.node)
            if looked_up is not None:
                return self.call(looked_up, call)
            if self.class_of(receiver) is None and (methods := self.sharding_methods(receiver, name)):
                return self.call_sharding_method(receiver, methods, call)
            if (spelled := domains.spelled_out(self, receiver)) is not receiver:
                return self.call_method(spelled, name, call)
            if (asked := domains.spelling_asked(receiver, name, call)) is not None:
                return self.cond(asked)
            return self.libraries.call_unresolved_method(receiver, name, call)
        if isinstance(receiver, ModRef):
            return self.call(self.member(receiver.module, name), call)
        if isinstance(receiver, Ext):
            return self.call(self.ext_attr(receiver, name), call)
        if isinstance(receiver, ClassV):
            if name == "__new__" and self.class_member(receiver, name) is None:
                return self.instance(receiver, call)
            if name == SUBCLASSES and not call.args:
                return class_tables.subclasses(self, receiver)
            made = self.call(self.class_attr_value(receiver, name), call)
            return self.libraries.made_by_class(receiver, name, made, call)
        if isinstance(receiver, Super):
            return self.call_super(receiver, name, call)
        if isinstance(receiver, Const) and (own := enums.of_member(self, receiver, name, call.node)) is not None:
            return self.call(own, call)
        return self.libraries.call_value_method(receiver, name, call)

    def sharding_methods(self, receiver: Obj, name: str) -> list[Func]:
        """What an object of unknown class can only mean by a method of this name: the project's that shard."""
        atom = receiver.atom
        if receiver.parent is None and (atom.kind in ("instance", "external") or atom.settings):
            return []
        found = []
        for path, owner in self.project.sharding_methods_of(name):
            module = self.project.module(path)
            node = module.top_level_class(owner) if module is not None else None
            method = class_body(node).get(name) if node is not None else None
            if module is not None and isinstance(method, nodes.FunctionDef):
                found.append(Func(module, method, 0, ClassV(module, node)))
        inside = any(frame.func is not None and frame.func.name == name for frame in self.frames)
        return [] if inside and len(found) > BUDGET.few_options else found  # each part could be any of them again

    def call_sharding_method(self, receiver: Obj, methods: list[Func], call: Call) -> Value:
        if len(methods) == 1 and methods[0].owner is not None:
            self.types.setdefault(receiver, methods[0].owner)
        bound: list[Value] = [Bound(receiver, method) for method in methods[: BUDGET.few_options]]
        if len(methods) > BUDGET.few_options:  # what the others do is not followed
            bound.append(unknown(f"{methods[0].name}()", kind="opaque"))
        paths = [TRUE.add(("is", ("class of", receiver), number)) or TRUE for number in range(len(bound))]
        return self.call(choose(list(zip(paths, bound))), call)

    def call_declared(self, receiver: Obj, name: str, found: Value, call: Call) -> Value:
        """A method of an object whose class is only declared: a subclass may do what this one refuses."""
        try:
            return self.call(found, call)
        except Diverges:
            if receiver.atom.cls is not None and receiver.parent is None:
                raise
            self.libraries.havoc(f"{name}() of a subclass", call, receiver)
            return unknown(f"{name}()")


def _unread(value: Value) -> bool:
    """Is it out of a file or a package that was not read?"""
    return isinstance(value, Obj) and value.atom.said_by is Says.UNREAD
