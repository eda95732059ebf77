"""Calls: project functions are followed with their actual arguments, within bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from astroid import nodes

from ..guards import TOP, Guard
from ..store import Items
from ..values import (
    EACH, NONE, Atom, Bound, BoundExt, Choice, ClassV, Cond, Const, DictV, Ext, Func, ListV, ModRef, Obj, Params, ParamV,
    Partial, Super, Text, TupleV, Value, choose, options, unknown,
)  # fmt: skip
from .conditions import Conditions
from .machine import FALL, MAX_DEPTH, RAISE, RETURN, Diverges, Frame

if TYPE_CHECKING:
    from ..project import Module
    from .interpreter import Interpreter

MAX_SAME_FUNCTION = 2
MAX_MODEL_DEPTH = 6
MAX_VISITED = 80
EXITS = frozenset({"sys.exit", "os._exit", "builtins.exit", "builtins.quit", "os.abort"})


@dataclass(slots=True)
class Call:
    """One call as a transfer function sees it."""

    machine: Interpreter
    node: nodes.NodeNG
    args: list[Value]
    kwargs: dict[str, Value] = field(default_factory=dict)
    open_why: str = ""  # there may be arguments that were not seen

    def arg(self, position: int | None, name: str = "") -> Value | None:
        if position is not None and position < len(self.args):
            return self.args[position]
        return self.kwargs.get(name)

    @property
    def all(self) -> list[Value]:
        return [*self.args, *self.kwargs.values()]


class Calls(Conditions):
    def eval_Call(self: Interpreter, node: nodes.Call) -> Value:  # type: ignore[misc]
        func = node.func
        if isinstance(func, nodes.Name) and func.name == "super" and self.frame.receiver is not None:
            return self.super_value(node)
        if isinstance(func, nodes.Attribute):
            receiver = self.eval(func.expr)
            args, kwargs, why = self.arguments(node)
            return self.over(receiver, lambda leaf: self.call_method(leaf, func.attrname, Call(self, node, args, kwargs, why)))
        callee = self.eval(func)
        args, kwargs, why = self.arguments(node)
        return self.call(callee, Call(self, node, args, kwargs, why))

    def arguments(self: Interpreter, node: nodes.Call) -> tuple[list[Value], dict[str, Value], str]:  # type: ignore[misc]
        args: list[Value] = []
        kwargs: dict[str, Value] = {}
        why = ""
        for part in node.args:
            if isinstance(part, nodes.Starred):
                held = self.listing(self.eval(part.value))
                args += [choose([item]) if item[0] is TOP else item[1] for item in held.items]
                why = why or held.open_why or ("" if held.exact else "*arguments of unknown number")
            else:
                args.append(self.eval(part))
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
            else:
                why = self.spread_keywords(value, kwargs) or why
        return args, kwargs, why

    def spread_keywords(self: Interpreter, value: Value, into: dict[str, Value]) -> str:  # type: ignore[misc]
        """``**value``: a keyword that is only there on some paths is a guarded choice."""
        why = ""
        for guard, leaf in self.alternatives(value):
            if not isinstance(leaf, DictV):
                why = "**keywords that were not followed"
                continue
            entries = self.entries(leaf)
            why = entries.open_why or why
            for key, path, item in entries.entries:
                joined = guard.join(path)
                if joined is None:
                    continue
                if isinstance(key, Const) and isinstance(key.value, str):
                    found = [*options(into[key.value]), (joined, item)] if key.value in into else [(joined, item)]
                    into[key.value] = found[0][1] if found[0][0] is TOP and len(found) == 1 else Choice(tuple(found))
                else:
                    why = "**keywords with computed names"
        return why

    def call(self: Interpreter, callee: Value, call: Call) -> Value:  # type: ignore[misc]
        return self.over(callee, lambda leaf: self.call_one(leaf, call))

    def call_one(self: Interpreter, leaf: Value, call: Call) -> Value:  # type: ignore[misc]
        if isinstance(leaf, Func):
            return self.call_function(leaf, call.args, call.kwargs, call.node, why=call.open_why)
        if isinstance(leaf, Bound):
            return self.call_function(leaf.func, call.args, call.kwargs, call.node, receiver=leaf.receiver, why=call.open_why)
        if isinstance(leaf, ClassV):
            return self.construct(leaf, call)
        if isinstance(leaf, Partial):
            merged = Call(self, call.node, [*leaf.args, *call.args], {**dict(leaf.kwargs), **call.kwargs}, call.open_why)
            return self.call(leaf.func, merged)
        if isinstance(leaf, Ext):
            if leaf.qname in EXITS:
                raise Diverges
            return self.call_external(leaf.qname, call)
        if isinstance(leaf, BoundExt):
            return self.call_method(leaf.receiver, leaf.name, call)
        if isinstance(leaf, Obj):
            return self.call_object(leaf, call)
        return unknown("the result of a call")

    def call_method(self: Interpreter, receiver: Value, name: str, call: Call) -> Value:  # type: ignore[misc]
        if isinstance(receiver, Choice):
            return self.over(receiver, lambda leaf: self.call_method(leaf, name, call))
        if isinstance(receiver, Obj):
            found = self.find_attr(receiver, name)
            if found is not None:
                self.entered(receiver, name, call)
                return self.call_declared(receiver, name, found, call)
            return self.call_unresolved_method(receiver, name, call)
        if isinstance(receiver, ModRef):
            return self.call(self.member(receiver.module, name), call)
        if isinstance(receiver, Ext):
            return self.call(self.ext_attr(receiver, name), call)
        if isinstance(receiver, ClassV):
            return self.call(self.class_attr_value(receiver, name), call)
        if isinstance(receiver, Super):
            return self.call_super(receiver, name, call)
        return self.call_value_method(receiver, name, call)

    def call_declared(self: Interpreter, receiver: Obj, name: str, found: Value, call: Call) -> Value:  # type: ignore[misc]
        """A method of an object whose class is only declared: a subclass may do what this one refuses."""
        try:
            return self.call(found, call)
        except Diverges:
            if receiver.atom.cls is not None and receiver.parent is None:
                raise
            self.opened(f"{name}() of a subclass", call, receiver)
            return unknown(f"{name}()")

    def call_function(  # type: ignore[misc]
        self: Interpreter,
        func: Func,
        args: list[Value],
        kwargs: dict[str, Value],
        node: nodes.NodeNG,
        *,
        receiver: Value | None = None,
        why: str = "",
        on_yield: Callable[[Value], int] | None = None,
    ) -> Value:
        if self.pointless(func, args, kwargs, receiver):
            return unknown(f"{func.name}()")
        active = sum(1 for frame in self.frames if frame.func is not None and frame.func.node is func.node)
        if active >= self.allowed_depth(args) or len(self.frames) >= MAX_DEPTH:
            self.opened(f"a recursive call of {func.name}()", Call(self, node, args, kwargs), receiver)
            return unknown(f"{func.name}(), a recursive call", kind="opaque")
        key = self.memo_key(func, args, kwargs, receiver) if on_yield is None and not why else None
        if key is not None and (found := self.memo.get(key)) is not None:
            value, pure, version = found
            if pure or version == self.store.shared_writes:
                return value
        before = (self.reads, self.store.shared_writes, len(self.trace))
        born = Atom("mark").id
        value = self.activate(func, args, kwargs, node, receiver, why, on_yield)
        if key is not None and before[1:] == (self.store.shared_writes, len(self.trace)) and not self.makes_new(value, born):
            self.memo[key] = (value, before[0] == self.reads, self.store.shared_writes)
        return value

    def allowed_depth(self, args: list[Value]) -> int:
        """Recursion over the parts of a known model ends by itself; any other is cut."""
        known = any(isinstance(value, Obj) and value.parent is None and value.atom.facts.get("module") for value in args)
        return MAX_MODEL_DEPTH if known else MAX_SAME_FUNCTION

    def makes_new(self, value: Value, born: int) -> bool:
        """Is a fresh object returned? Two calls make two of them, which must not become one."""
        for _, leaf in options(value):
            if isinstance(leaf, (ListV, DictV)):
                return True
            if isinstance(leaf, TupleV):
                if any(self.makes_new(item, born) for item in leaf.items):
                    return True
            elif isinstance(leaf, Obj) and leaf.atom.id > born and (leaf.atom.site is not None or leaf.atom.kind == "instance"):
                return True
        return False

    def memo_key(self: Interpreter, func: Func, args: list[Value], kwargs: dict[str, Value], receiver: Value | None) -> Any:  # type: ignore[misc]
        return (func.node, func.closure, receiver, tuple(args), tuple(kwargs.items()), self.guard)

    def pointless(self: Interpreter, func: Func, args: list[Value], kwargs: dict[str, Value], receiver: Value | None) -> bool:  # type: ignore[misc]
        """Code of a file that knows nothing of torch, with nothing of torch in its hands."""
        if func.module.mentions_torch or func.closure or func.module.path in self.project.relevant:
            return False
        handed = [*args, *kwargs.values(), *([receiver] if receiver is not None else [])]
        return not any(self.matters(leaf) for value in handed for _, leaf in self.leaves(value))

    def matters(self, leaf: Value) -> bool:
        if isinstance(leaf, Obj):
            return leaf.atom.kind != "configuration" and bool(leaf.atom.kind == "external" or leaf.atom.facts.get("module") or leaf.atom.cls)
        return isinstance(leaf, (Params, ParamV, Func, Bound, Partial))

    def activate(self: Interpreter, func: Func, args: list[Value], kwargs: dict[str, Value], node: nodes.NodeNG, receiver: Value | None, why: str, on_yield: Any) -> Value:  # type: ignore[misc]  # fmt: skip
        start = self.guard
        frame = Frame(self.fresh(), func.module, func, start, func.owner, receiver, on_yield=on_yield)
        if func.closure:
            self.closures[frame.id] = func.closure
        bound = self.bind_arguments(func, args, kwargs, receiver, why)
        self.reached.add(func.node)
        if self.frames:
            self.calls.append((self.frame.module, node))
        self.frames.append(frame)
        try:
            self.given(func, bound)
            for name, value in bound.items():
                self.store.put((frame.id, name), value, local=True)
            if isinstance(func.node, nodes.Lambda) and not isinstance(func.node, nodes.FunctionDef):
                return self.eval(func.node.body)
            flow = self.exec_block(func.node.body)
            if flow & FALL:
                frame.returns.append((self.guard, NONE))
            elif not flow & RETURN and flow & RAISE and not frame.returns:
                raise Diverges
        finally:
            self.frames.pop()
            if self.frames:
                self.calls.pop()
            self.guard = start
        if frame.yields:
            made = ListV(self.fresh())
            items = tuple((self.relative(path, start), value) for path, value in frame.yields)
            self.store.put(made.id, Items(items, False), local=True)
            return made
        self.frame_flow = frame.flow_of_body
        result = choose([(self.relative(path, start), value) for path, value in frame.returns])
        if func.node.returns is not None:
            self.declare(result, func.module, func.node.returns)
        return result

    def bind_arguments(self: Interpreter, func: Func, args: list[Value], kwargs: dict[str, Value], receiver: Value | None, why: str) -> dict[str, Value]:  # type: ignore[misc]  # fmt: skip
        spec = func.node.args
        names = [*(spec.posonlyargs or []), *(spec.args or [])]
        positional = [receiver, *args] if receiver is not None else list(args)
        rest = dict(kwargs)
        bound: dict[str, Value] = {}
        for position, name_node in enumerate(names):
            if position < len(positional):
                bound[name_node.name] = positional[position]
            elif name_node.name in rest:
                bound[name_node.name] = rest.pop(name_node.name)
        for name_node in spec.kwonlyargs or []:
            if name_node.name in rest:
                bound[name_node.name] = rest.pop(name_node.name)
        if spec.vararg:
            extra = positional[len(names) :]
            bound[spec.vararg] = unknown(f"*{spec.vararg}", kind="opaque") if why else TupleV(tuple(extra))
        if spec.kwarg:
            made = self.new_dict({Const(name): value for name, value in rest.items()}, why)
            bound[spec.kwarg] = made
        self.bind_defaults(func, spec, names, bound, why)
        self.bind_types(func, spec, bound)
        return bound

    def bind_defaults(self: Interpreter, func: Func, spec: nodes.Arguments, names: list[Any], bound: dict[str, Value], why: str) -> None:  # type: ignore[misc]  # fmt: skip
        defaults = list(spec.defaults or [])
        pairs = list(zip(names[len(names) - len(defaults) :], defaults))
        pairs += [(name, default) for name, default in zip(spec.kwonlyargs or [], spec.kw_defaults or []) if default is not None]
        given = dict((name.name, default) for name, default in pairs)
        for name_node in [*names, *(spec.kwonlyargs or [])]:
            name = name_node.name
            if name in bound:
                continue
            if name in given and not why:
                bound[name] = self.in_module(func.module, lambda node=given[name]: self.eval(node)) or unknown(name)
            else:
                bound[name] = self.parameter(func, name)

    def parameter(self, func: Func, name: str) -> Value:
        """An argument that nobody passed (yet): the same unknown each time it is asked for."""
        key = (func.node, name)
        if key not in self.parameters:  # type: ignore[attr-defined]
            kind = "configuration" if self.plain_parameter(func.node.args, name) else "parameter"
            self.parameters[key] = unknown(name, kind=kind)  # type: ignore[attr-defined]
        return self.parameters[key]  # type: ignore[attr-defined]

    def plain_parameter(self, spec: nodes.Arguments, name: str) -> bool:
        """Is it annotated as a number, a string or the like?"""
        pairs = [*zip(spec.args or [], spec.annotations or []), *zip(spec.kwonlyargs or [], spec.kwonlyargs_annotations or [])]
        found = next((annotation for node, annotation in pairs if node.name == name), None)
        return isinstance(found, nodes.Name) and found.name in ("int", "float", "str", "bool")

    def bind_types(self: Interpreter, func: Func, spec: nodes.Arguments, bound: dict[str, Value]) -> None:  # type: ignore[misc]
        annotated = [*zip(spec.posonlyargs or [], spec.posonlyargs_annotations or []), *zip(spec.args or [], spec.annotations or []), *zip(spec.kwonlyargs or [], spec.kwonlyargs_annotations or [])]  # fmt: skip
        for name_node, annotation in annotated:
            value = bound.get(name_node.name)
            if annotation is not None and value is not None:
                self.declare(value, func.module, annotation)

    def declare(self: Interpreter, value: Value, module: Module, annotation: nodes.NodeNG) -> None:  # type: ignore[misc]
        """Believe an annotation where nothing else says of what class a value is."""
        for _, leaf in self.alternatives(value):
            if isinstance(leaf, Obj) and leaf.atom.cls is None and leaf not in self.types:
                found = self.annotated_class(module, annotation)
                if found is not None:
                    self.types[leaf] = found
                elif leaf.atom.kind == "parameter" and leaf.parent is None:
                    self.annotated_external(leaf, module, annotation)

    def elements(self: Interpreter, value: Value, node: nodes.NodeNG) -> list[tuple[Guard, Value]]:  # type: ignore[misc]
        """What a loop over ``value`` visits: each known element, or one that means each."""
        found: list[tuple[Guard, Value]] = []
        for guard, leaf in self.alternatives(value):
            for path, item in self.listing(leaf).items:
                joined = guard.join(path)
                if joined is not None:
                    found.append((joined, item))
        return found[:MAX_VISITED]

    def listing(self: Interpreter, leaf: Value) -> Items:  # type: ignore[misc]
        """The contents of anything that can be iterated."""
        if isinstance(leaf, Choice):
            parts = [(guard, self.listing(one)) for guard, one in self.alternatives(leaf)]
            items = tuple((joined, item) for guard, held in parts for path, item in held.items if (joined := guard.join(path)))
            why = next((held.open_why for _, held in parts if held.open_why), "")
            return Items(items, False, why)
        if isinstance(leaf, TupleV):
            return Items(tuple((TOP, item) for item in leaf.items))
        if isinstance(leaf, ListV):
            held = self.items(leaf)
            return self.consumed(held) if leaf.lazy else held
        if isinstance(leaf, DictV):
            entries = self.entries(leaf)
            return Items(tuple((path, key) for key, path, _ in entries.entries), False, entries.open_why)
        if isinstance(leaf, Params):
            read = ParamV(leaf.model, self.now)
            return Items(((TOP, TupleV((Text(False), read)) if leaf.named else read),), False)
        if isinstance(leaf, Obj):
            return self.object_listing(leaf)
        return Items(((TOP, self.part_of(leaf)),), False, "something that was not followed")

    def consumed(self, held: Items) -> Items:
        """A generator's parameters are read when it is consumed, not when it is written."""
        items = tuple((path, ParamV(item.model, self.now) if isinstance(item, ParamV) else item) for path, item in held.items)
        return Items(items, held.exact, held.open_why)

    def eval_Yield(self: Interpreter, node: nodes.Yield) -> Value:  # type: ignore[misc]
        value = self.eval(node.value) if node.value is not None else NONE
        frame = self.frame
        if frame.on_yield is None:
            frame.yields.append((self.guard, value))
            return unknown("what was sent to a generator")
        frames, calls = self.frames, self.calls
        self.frames, self.calls = frames[:-1], calls[:-1]
        try:
            frame.flow_of_body |= frame.on_yield(value)
        except Diverges:  # what stands behind the yield is there to clean up
            frame.flow_of_body |= RAISE
        finally:
            self.frames, self.calls = frames, calls
        return NONE

    def eval_YieldFrom(self: Interpreter, node: nodes.YieldFrom) -> Value:  # type: ignore[misc]
        for guard, element in self.elements(self.eval(node.value), node):
            self.frame.yields.append((self.guard.join(guard) or self.guard, element))
        return NONE

    def with_manager(self: Interpreter, manager: nodes.NodeNG, inner: Callable[[Value], int]) -> int:  # type: ignore[misc]
        if isinstance(manager, nodes.Call):
            found = self.generator_manager(manager)
            if found is not None:
                func, receiver, args, kwargs, why = found
                self.frame_flow = 0
                self.call_function(func, args, kwargs, manager, receiver=receiver, why=why, on_yield=inner)
                return self.frame_flow or FALL
        value = self.eval(manager)
        entered = self.enter_manager(value, manager)
        flow = inner(entered)
        self.leave_manager(value, manager)
        return flow

    def generator_manager(self: Interpreter, manager: nodes.Call) -> Any:  # type: ignore[misc]
        """Is this a call of a project function under ``@contextmanager``?"""
        func = manager.func
        receiver: Value | None = None
        if isinstance(func, nodes.Attribute):
            owner = self.eval(func.expr)
            callee = self.find_attr(owner, func.attrname) if isinstance(owner, Obj) else self.get_attr(owner, func.attrname, func)
        elif isinstance(func, nodes.Name):
            callee = self.lookup(func.name)
        else:
            return None
        if isinstance(callee, Bound):
            callee, receiver = callee.func, callee.receiver
        if not (isinstance(callee, Func) and self.is_generator_manager(callee.node)):
            return None
        args, kwargs, why = self.arguments(manager)
        return callee, receiver, args, kwargs, why

    def is_generator_manager(self, node: nodes.NodeNG) -> bool:
        decorators = getattr(node, "decorators", None)
        names = [part.as_string().rsplit(".", 1)[-1] for part in decorators.nodes] if decorators else []
        return "contextmanager" in names or "asynccontextmanager" in names

    def statement_value(self: Interpreter, node: nodes.Expr, value: Value) -> None:  # type: ignore[misc]
        """A value that a bare statement throws away (see ``torch_model.device``)."""
        self.discarded(node, value)


__all__ = ["EACH", "Call", "Calls", "Cond"]
