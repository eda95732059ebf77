"""Decorators: those of the project are called, what others make of a function or a class is not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from astroid import nodes

from ...domain.values import (
    Bound,
    ClassV,
    Computed,
    Ext,
    Func,
    Loaded,
    Obj,
    ParamV,
    StateDict,
    StateTensor,
    Value,
    unknown,
)
from ...frontend.origins import full_name
from ..call import Call
from ..machine import L
from ..syntax import class_body
from . import dispatching
from .calls import Calls

_KEEPS = frozenset({"hydra.main"})  # calls the function with a configuration, and is no part of it otherwise
CONTEXTS = ("contextlib.contextmanager", "contextlib.asynccontextmanager")
_DATA = (StateDict, StateTensor, Loaded, ParamV, Computed)
_OF_PROPERTIES = ("setter", "getter", "deleter")


class Decorators(Calls[L]):
    def decorated(self, node: nodes.FunctionDef | nodes.ClassDef, func: Value) -> Value:
        for decorator in reversed(node.decorators.nodes if node.decorators is not None else []):
            func = self.wrapped(decorator, node, func)
        return func

    def wrapped(self, decorator: nodes.NodeNG, node: nodes.NodeNG, func: Value) -> Value:
        """What a decorator makes of a function: the same, what code of the project returns, or something unseen."""
        callee = self.decorator_value(decorator, node)
        if isinstance(callee, Func) and callee.node is node:
            return func
        if isinstance(callee, (Func, Bound)) or isinstance(callee, ClassV) and isinstance(func, Func):
            maker = self.eval(decorator)
            return self.or_itself(self.call(maker, Call(decorator, [func])), func, decorator)
        if isinstance(callee, Ext) and callee.qname in _KEEPS:
            return func
        if isinstance(callee, Ext) and isinstance(func, Func):
            if (made := self.libraries.decorated(callee, func)) is not None:
                return made
        chooses = isinstance(callee, Ext) and callee.qname in dispatching.CHOOSES
        foreign = callee is not None and self.libraries.is_foreign(callee)
        return self.around(func, decorator) if chooses or foreign else func

    def decorator_value(self, decorator: nodes.NodeNG, node: nodes.NodeNG) -> Value | None:
        """What a decorator, or the call that makes it, names; None for what the class body itself binds."""
        base = decorator.func if isinstance(decorator, nodes.Call) else decorator
        if isinstance(base, nodes.Attribute) and base.attrname in _OF_PROPERTIES or self.is_context(base):
            return None
        inner = base
        while isinstance(inner, (nodes.Attribute, nodes.Call, nodes.Subscript)):
            inner = getattr(inner, "expr", None) or getattr(inner, "func", None) or inner.value
        holder = node.parent
        if isinstance(holder, nodes.ClassDef) and isinstance(inner, nodes.Name) and inner.name in class_body(holder):
            return None
        return self.eval(base)

    def is_context(self, base: nodes.NodeNG) -> bool:
        """``contextlib.contextmanager``: where the function yields, the body of the ``with`` runs."""
        return full_name(base) in CONTEXTS

    def or_itself(self, made: Value, func: Value, decorator: nodes.NodeNG) -> Value:
        """What a decorator of the project returned; the function itself where that was not followed."""
        if not isinstance(made, Obj) or self.class_of(made) is not None and self.find_attr(made, "__call__"):
            return made
        return self.around(func, decorator) if self.libraries.is_foreign(made) else func

    def around(self, func: Value, decorator: nodes.NodeNG) -> Value:
        return replace(func, around=f"@{decorator.as_string()}") if isinstance(func, Func) else func

    def call_around(self, func: Func, call: Call, receiver: Value | None, on_yield: Any) -> Value:
        """What wraps a function sees its arguments first and its result last."""
        inner = replace(func, around="")
        if on_yield is None and (chosen := dispatching.run(self, inner, call, receiver)) is not None:
            return chosen
        self.libraries.havoc(func.around, call, receiver)
        self.wrapped_by.append(func.around)
        made = self.call_function(
            inner, call.args, call.kwargs, call.node, receiver=receiver, why=call.open_why, on_yield=on_yield
        )
        self.wrapped_by.pop()
        self.libraries.havoc(func.around, Call(call.node, [*call.all, made]), receiver)
        return self.over(made, lambda leaf: self.perhaps_exchanged(leaf, func.around, call))

    def perhaps_exchanged(self, leaf: Value, who: str, call: Call) -> Value:
        """What wraps a function may return something else in place of data, or of what was handed in.

        What the function itself made is kept, as an object that is open by now.
        """
        exchanged = leaf in call.all or any(isinstance(held, _DATA) for held in self.inside(leaf))
        return unknown(f"what {who} returns", kind="opaque") if exchanged else leaf

    def made_by_unseen(self, cls: ClassV) -> str:
        """Which decorator or metaclass, that was not followed, made the class; empty if none did."""
        if cls not in self.unseen_makers:
            self.unseen_makers[cls] = ""
            self.unseen_makers[cls] = (
                self.in_module(cls.module, lambda: self.unseen_maker(cls), closure=cls.closure) or ""
            )
        return self.unseen_makers[cls]

    def unseen_maker(self, cls: ClassV) -> str:
        for decorator in cls.node.decorators.nodes if cls.node.decorators is not None else ():
            callee = self.decorator_value(decorator, cls.node)
            if callee is not None and self.libraries.is_foreign(callee):
                return f"@{decorator.as_string()}"
        metaclass = cls.node._metaclass
        made = self.eval(metaclass) if metaclass is not None else None
        return f"metaclass={metaclass.as_string()}" if made is not None and self.unseen_metaclass(made) else ""

    def unseen_metaclass(self, made: Value) -> bool:
        """May it do anything to the classes that it makes and their objects? One of the project is not followed."""
        return isinstance(made, ClassV) or self.libraries.is_foreign(made)
