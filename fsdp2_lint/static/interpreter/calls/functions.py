"""Activations of project functions: arguments, memory of calls, depth."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from astroid import nodes

from ...budget import BUDGET
from ...domain.choices import choose, options, or_else, unmarked
from ...domain.formulas import Formula
from ...domain.says import Says
from ...domain.store import Items
from ...domain.values import (
    NONE,
    AbstractObject,
    ClassV,
    Const,
    DictV,
    Func,
    ListV,
    Obj,
    Sometimes,
    TupleV,
    Value,
    unknown,
)
from ...frontend.names import lengthy, names_in
from ...frontend.packages import builds_models
from ..call import UNREAD_KEYWORDS, Call, Spread
from ..expressions import domains, own_values, owning
from ..frames import FALL, RAISE, RETURN, Diverges, Frame, Taken
from ..machine import L
from ..syntax import by_position, checks, defaults_of, is_dataclass, returns_itself
from . import nested_data
from .aside import Aside
from .managers import NotEntered

if TYPE_CHECKING:
    from ...frontend.module import Module

_DATA = frozenset({"int", "float", "str", "bool", "bytes", "Tensor", "ndarray", "LongTensor", "dtype"})
_AROUND_DATA = frozenset(
    "dict Dict list List tuple Tuple set Sequence Mapping Iterable Any Optional Union None torch np numpy".split()
)


class Functions(Aside[L]):
    def call_function(
        self,
        func: Func,
        args: list[Value],
        kwargs: dict[str, Value],
        node: nodes.NodeNG,
        *,
        receiver: Value | None = None,
        why: str = "",
        on_yield: Callable[[Value], int] | None = None,
    ) -> Value:
        """From memory, in short, or step by step; unknown where a bound is reached."""
        if func.around:
            return self.call_around(func, Call(node, args, kwargs, why), receiver, on_yield)

        def run(leaf: Value) -> Value:
            return self.call_function(func, [leaf, *args[1:]], kwargs, node, receiver=receiver, why=why)

        if (copied := nested_data.copied(self, func, args, run)) is not None:
            return copied
        if on_yield is None and self.pointless(func, args, kwargs, receiver):
            self.blur(func, [*args, *kwargs.values(), receiver or NONE])
            self.stops += 1
            if receiver is not None and returns_itself(func.node):
                return receiver
            made = unknown(f"{func.name}()")
            made.atom.apart = True  # nothing of a model was in its hands
            owning.passed_on(self, made, [*args, *kwargs.values()], doubt=own_values.unseen(func.name))
            return self.as_annotated(func, made)
        if on_yield is None and self.waits_for_with(func, node):
            return self.not_entered(NotEntered(func, (*args,), (*kwargs.items(),), receiver, why))
        if self.too_deep(func, args):
            if not self.repeats(func, [*args, *kwargs.values(), receiver or NONE]):
                self.libraries.havoc(f"a recursive call of {func.name}()", Call(node, args, kwargs), receiver)
            return unknown(f"{func.name}(), a recursive call", kind="opaque")
        key = self.memo_key(func, args, kwargs, receiver) if on_yield is None and not why else None
        if key is not None and (found := self.memo.get(key)) is not None:
            value, pure, version, stops = found
            if pure or version == (self.store.shared_writes, len(self.trace)):
                self.stops += stops
                return value
        before, stopped = (self.reads, self.store.shared_writes, len(self.trace)), self.stops
        born = AbstractObject("mark").id
        if on_yield is not None:  # the body of the ``with`` is the caller's own code
            return self.activate(func, args, kwargs, node, receiver, why, on_yield)
        call = Call(node, args, kwargs, why)
        value = self.limited(func, call, receiver, lambda: self.activate(func, args, kwargs, node, receiver, why, None))
        if (
            key is not None
            and before[1:] == (self.store.shared_writes, len(self.trace))
            and not self.makes_new(value, born)
        ):
            self.memo[key] = (value, before[0] == self.reads, before[1:], self.stops - stopped)
        return value

    def too_deep(self, func: Func, args: list[Value]) -> bool:
        """Does a function call itself too often? Functions made by one line, such as links of a chain, are several."""
        running = [frame.func for frame in self.frames if frame.func is not None and frame.func.node is func.node]
        again = sum(1 for each in running if each.closure == func.closure)
        deep = again >= self.allowed_depth(args) or len(running) >= BUDGET.links
        return deep or len(self.frames) >= BUDGET.frames

    def makes_new(self, value: Value, born: int) -> bool:
        """Is a fresh object returned? Two calls make two of them, which must not become one."""
        for _, leaf in options(value):
            if isinstance(leaf, (ListV, DictV)):
                return True
            if isinstance(leaf, TupleV):
                if any(self.makes_new(item, born) for item in leaf.items):
                    return True
            elif (
                isinstance(leaf, Obj)
                and leaf.atom.id > born
                and (leaf.atom.site is not None or leaf.atom.kind == "instance")
                or isinstance(leaf, Obj)
                and leaf in self.libraries.answers
            ):
                return True
        return False

    def memo_key(self, func: Func, args: list[Value], kwargs: dict[str, Value], receiver: Value | None) -> Any:
        return (func.node, func.closure, receiver, tuple(args), tuple(kwargs.items()), self.guard)

    def activate(
        self,
        func: Func,
        args: list[Value],
        kwargs: dict[str, Value],
        node: nodes.NodeNG,
        receiver: Value | None,
        why: str,
        on_yield: Any,
    ) -> Value:
        """Run the body in a new activation: what it returns or yields, each on its path."""
        start = self.guard
        given = (*args, *kwargs.values(), receiver or NONE)
        frame = Frame(self.fresh(), func.module, func, start, func.owner, receiver, given, on_yield=on_yield)
        if on_yield is None:
            frame.taken = self.own.setdefault(func.node, Taken())
        if func.closure:
            self.closures[frame.id] = func.closure
        bound = self.bind_arguments(func, args, kwargs, receiver, why)
        self.reached[func.node] = None
        if on_yield is None and self.is_generator_manager(func.node):
            self.unentered.add(frame.id)
        if self.frames:
            self.calls.append((self.frame.module, node))
        self.frames.append(frame)
        common: list[Formula] = []
        left = self.quiet_exits
        try:
            self.libraries.given(func, bound)
            for name, value in bound.items():
                self.store.put((frame.id, name), value, local=True)
            if isinstance(func.node, nodes.Lambda) and not isinstance(func.node, nodes.FunctionDef):
                return self.eval(func.node.body)
            flow = self.exec_block(func.node.body)
            if flow & FALL:
                frame.returns.append((self.guard, NONE))
            elif not flow & RETURN and flow & RAISE and not frame.returns and not frame.yields:
                if left == self.quiet_exits:
                    self.doomed.add(frame.id)
                for caller in self.frames[-2:-1]:
                    caller.refuses = True
                raise Diverges
            if on_yield is None and (checks(func.node) or frame.refuses and not lengthy(func.node)):
                common = self.checked(frame)
        finally:
            self.frames.pop()
            if self.frames:
                self.calls.pop()
            self.guard = start
        self.finished.add(func.node)
        for caller in self.frames[-1:] if common else ():
            caller.refuses = True
        for formula in common:
            goes_on = self.assumed if left != self.quiet_exits else self.checked_path
            self.guard = goes_on(self.guard, self.guard.add(formula))
        start = self.guard
        if frame.yields:
            items = tuple((self.relative(path, start), value) for path, value in frame.yields)
            return self.listed(Items(items, False))
        self.frame_flow, self.frame_behind = frame.flow_of_body, frame.behind
        result = choose(unmarked([(self.relative(path, start), value) for path, value in frame.returns], frame.id))
        return self.as_annotated(func, result)

    def as_annotated(self, func: Func, result: Value) -> Value:
        """What a function returns, of the class that it says where nothing else does."""
        if isinstance(func.node, nodes.FunctionDef) and func.node.returns is not None:
            self.declare(result, func.module, func.node.returns)
        return result

    def fits(self, func: Func, call: Call) -> bool:
        """Does a call give all that has no default? Also where that is not known: decorators may put more in."""
        node = func.node
        if call.open_why or func.owner is not None or isinstance(node, nodes.Lambda) or node.decorators is not None:
            return True
        spec = node.args
        left = [*by_position(spec)[len(call.args) :], *(spec.kwonlyargs or [])]
        given = {*defaults_of(spec), *call.kwargs}
        return all(each.name in given for each in left)

    def bind_arguments(
        self, func: Func, args: list[Value], kwargs: dict[str, Value], receiver: Value | None, why: str
    ) -> dict[str, Value]:
        """Which parameter gets which value."""
        spec = func.node.args
        names = by_position(spec)
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

    def bind_defaults(
        self, func: Func, spec: nodes.Arguments, names: list[Any], bound: dict[str, Value], why: str
    ) -> None:
        """Defaults, and unknowns for what a caller that was not seen gives."""
        given = defaults_of(spec)
        for name_node in [*names, *(spec.kwonlyargs or [])]:
            name = name_node.name
            passed = bound.get(name)
            if passed is not None and not (isinstance(passed, Sometimes) and name in given):
                continue
            if name in given and (passed is not None or not why):
                default = self.default(func, given[name]) or unknown(name)
                bound[name] = default if passed is None else or_else(passed, default)
            else:
                bound[name] = self.parameter(func, name, why)

    def default(self, func: Func, node: nodes.NodeNG) -> Value | None:
        if isinstance(node, nodes.Const):
            return Const(node.value)
        return self.in_module(func.module, lambda: self.eval(node))

    def parameter(self, func: Func, name: str, why: str = "") -> Value:
        """An argument that nobody passed (yet), or that was not seen: the same unknown each time it is asked for."""
        if isinstance(why, Spread):
            return self.libraries.item_of(why.of, Const(name), func.node)
        unread = why == UNREAD_KEYWORDS
        key = (func.node, name, unread)
        if key not in self.parameters:
            kind = "configuration" if self.plain_parameter(func, name) else "parameter"
            made = unknown(name, kind=kind)
            made.atom.said_by = Says.UNREAD if unread else None
            self.parameters[key] = made
        return self.parameters[key]

    def plain_parameter(self, func: Func, name: str) -> bool:
        """Is it annotated as numbers, strings, tensors, records of such, or dicts and lists of them?"""
        spec = func.node.args
        pairs = [
            *zip(spec.args or [], spec.annotations or []),
            *zip(spec.kwonlyargs or [], spec.kwonlyargs_annotations or []),
        ]
        found = next((annotation for node, annotation in pairs if node.name == name), None)
        return found is not None and self._says_data(func.module, found)

    def _says_data(self, module: Module, annotation: nodes.NodeNG, within: tuple[ClassV, ...] = ()) -> bool:
        names = names_in(annotation) - _AROUND_DATA
        return bool(names) and all(name in _DATA or self._is_record(module, name, within) for name in names)

    def _is_record(self, module: Module, name: str, within: tuple[ClassV, ...]) -> bool:
        """Is it a dataclass of the project that has fields of data alone?"""
        cls = self.global_name(module, name) if name in module.bindings else None
        if not isinstance(cls, ClassV) or not is_dataclass(cls.node):
            return False
        fields = [each.annotation for each in cls.node.body if isinstance(each, nodes.AnnAssign)]
        return (
            cls in within or bool(fields) and all(self._says_data(cls.module, each, (*within, cls)) for each in fields)
        )

    def bind_types(self, func: Func, spec: nodes.Arguments, bound: dict[str, Value]) -> None:
        annotated = [
            *zip(spec.posonlyargs or [], spec.posonlyargs_annotations or []),
            *zip(spec.args or [], spec.annotations or []),
            *zip(spec.kwonlyargs or [], spec.kwonlyargs_annotations or []),
        ]
        for name_node, annotation in annotated:
            value = bound.get(name_node.name)
            if annotation is not None and value is not None:
                self.declare(value, func.module, annotation)

    def declare(self, value: Value, module: Module, annotation: nodes.NodeNG) -> None:
        """Believe an annotation where nothing else says of what class a value is."""
        for _, leaf in self.alternatives(value):
            if isinstance(leaf, Obj) and leaf.atom.cls is None:
                domains.confine_to_annotation(self, leaf, module, annotation)
            if isinstance(leaf, Obj) and leaf.atom.cls is None and leaf not in self.types:
                found = self.annotated_class(module, annotation)
                strange = found is not None and builds_models(leaf.atom.origin) and self.is_module_class(found) is False
                if found is not None and not strange:  # else it was meant for another method than this one
                    self.types[leaf] = found
                elif leaf.atom.kind == "parameter" and leaf.parent is None:
                    self.libraries.annotated_external(leaf, module, annotation)
