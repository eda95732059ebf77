"""Functions, classes and instances come into being; ``super()``."""

from __future__ import annotations

from astroid import nodes

from ...domain.choices import or_else
from ...domain.says import Says
from ...domain.values import NONE, SOME, AbstractObject, ClassV, Const, Ext, Func, Obj, Sometimes, Super, Value, unknown
from ...frontend.origins import full_name
from ..call import UNREAD_KEYWORDS, Call, Spread
from ..frames import Frame
from ..machine import L
from ..syntax import class_body, decorator_names, is_dataclass, is_field
from .decorators import Decorators


class Construction(Decorators[L]):
    def function_value(self, node: nodes.FunctionDef | nodes.Lambda) -> Func:
        frame = self.frame
        return Func(frame.module, node, self.captured_frame(frame))

    def captured_frame(self, frame: Frame) -> int:
        """The frame that a definition inside it closes over; none at a module's top level."""
        if frame.func is None:
            return 0
        self.store.captured.add(frame.id)
        return frame.id

    def class_value(self, node: nodes.ClassDef) -> ClassV:
        frame = self.frame
        return ClassV(frame.module, node, self.captured_frame(frame))

    def instance(self, cls: ClassV, call: Call) -> Obj:
        """An object of a class before it is initialised."""
        atom = AbstractObject("instance", cls=cls, origin=cls.name, site=self.site(call.node))
        atom.module = self.is_module_class(cls)
        atom.filled_before = self.class_member(cls, "__new__") is not None  # what ``__new__`` sets is not seen
        return atom.root

    def construct(self, cls: ClassV, call: Call) -> Value:
        obj = self.instance(cls, call)
        initialiser = self.class_member(cls, "__init__")
        if initialiser is not None:
            owner, node = initialiser
            func = Func(owner.module, node, owner.closure, owner)
            self.call_function(func, call.args, call.kwargs, call.node, receiver=obj, why=call.open_why)
        else:
            self.fields_from_arguments(obj, cls, call)
        if initialiser is None or self.made_by_unseen(cls):
            self.built_by_unseen(obj, cls, call)
        self.libraries.constructed(obj, cls, call)
        return obj

    def built_by_unseen(self, obj: Obj, cls: ClassV, call: Call) -> None:
        """A base class, a decorator or a metaclass that is not seen takes part in building an object."""
        if not self.libraries.harmless_object(obj):
            self.libraries.havoc(f"{cls.name}()", call, receiver=obj)
        if not self.closed_class(cls):
            obj.atom.keeps = (*obj.atom.keeps, *call.all)

    def fields_from_arguments(self, obj: Obj, cls: ClassV, call: Call) -> None:
        """Dataclasses and named tuples: arguments become fields, in order of declaration."""
        fields: dict[str, nodes.AnnAssign] = {}
        bases = [base for base in reversed(self.mro(cls)) if isinstance(base, ClassV)]
        for base in bases:
            fields.update(
                {name: node for name, node in class_body(base.node).items() if isinstance(node, nodes.AnnAssign)}
            )
        positional = [name for name, node in fields.items() if self.is_given(node)]
        given = {**dict(zip(positional, call.args)), **call.kwargs}
        for name, value in given.items():
            default = (
                self.written_default(cls, fields[name]) if isinstance(value, Sometimes) and name in fields else None
            )
            self.store.put((obj, name), value if default is None else or_else(value, default))
        for name in fields if not call.open_why else ():
            made = self.field_default(cls, fields[name]) if name not in given else None
            if made is not None:
                self.store.put((obj, name), made)
        if isinstance(call.open_why, Spread):
            for name in (name for name in positional if name not in given):
                self.store.put((obj, name), self.libraries.item_of(call.open_why.of, Const(name), call.node))
        elif call.open_why:
            some = unknown(call.open_why)  # any field may have been given
            some.atom.said_by = Says.UNREAD if call.open_why == UNREAD_KEYWORDS else None
            self.store.put((obj, SOME), some)
        for name in ("__post_init__", "__attrs_post_init__"):
            if (initialiser := self.class_member(cls, name)) is not None:
                owner, node = initialiser
                self.call_function(Func(owner.module, node, owner.closure, owner), [], {}, call.node, receiver=obj)

    def is_given(self, field: nodes.AnnAssign) -> bool:
        """Does ``__init__`` take it: is it no variable of the class, no ``init=False``, no mark?"""
        options = field.value.keywords if self.is_dataclass_field(field.value) else []
        left_out = any(each.arg == "init" and each.value.as_string() == "False" for each in options)
        return not left_out and full_name(field.annotation) != "dataclasses.KW_ONLY" and is_field(field)

    def field_default(self, cls: ClassV, field: nodes.AnnAssign) -> Value | None:
        """``field(default_factory=...)``: the factory is called for each object. A None by default is one here."""
        if isinstance(field.value, nodes.Const) and field.value.value is None and is_dataclass(field.parent):
            return NONE
        if field.value is None or not self.is_dataclass_field(field.value):
            return None
        found = {word.arg: word.value for word in field.value.keywords}
        owner = next(base for base in self.mro(cls) if isinstance(base, ClassV) and field in base.node.body)
        if "default_factory" in found:
            factory = found["default_factory"]
            call = Call(factory, [])
            return self.in_module(owner.module, lambda: self.call(self.eval(factory), call))
        default = found.get("default")
        return self.in_module(owner.module, lambda: self.eval(default)) if default is not None else None

    def written_default(self, cls: ClassV, field: nodes.AnnAssign) -> Value | None:
        """Likewise, also where it is written behind the field: else that is looked up in the class."""
        if field.value is None or self.is_dataclass_field(field.value):
            return self.field_default(cls, field)
        owner = next(base for base in self.mro(cls) if isinstance(base, ClassV) and field in base.node.body)
        return self.in_module(owner.module, lambda: self.eval(field.value))

    def super_value(self, node: nodes.Call) -> Value:
        frame = self.frame
        owner = frame.owner
        if node.args and isinstance(given := self.eval(node.args[0]), ClassV):
            owner = given
        if owner is None or frame.receiver is None:
            return unknown("super()")
        return Super(owner, frame.receiver)

    def class_of_receiver(self, value: Super) -> ClassV:
        if isinstance(value.receiver, ClassV):
            return value.receiver
        if isinstance(value.receiver, Obj):
            return self.class_of(value.receiver) or value.cls
        return value.cls

    def call_super(self, value: Super, name: str, call: Call) -> Value:
        cls = self.class_of_receiver(value)
        found = self.class_member(cls, name, behind=value.cls)
        if found is not None:
            owner, node = found
            if isinstance(node, nodes.FunctionDef):
                func = Func(owner.module, node, owner.closure, owner)
                receiver = None if "staticmethod" in decorator_names(node) else value.receiver
                return self.call_function(func, call.args, call.kwargs, call.node, receiver=receiver, why=call.open_why)
        if isinstance(value.receiver, Obj):
            return self.libraries.call_base_method(value.receiver, name, call)
        base = self.base_behind(cls, value.cls) if not name.startswith("__") else None
        return self.call(self.ext_attr(base, name), call) if base is not None else unknown(f"super().{name}()")

    def base_behind(self, cls: ClassV, at: ClassV) -> Ext | None:
        """The class of another package that a class method finds next, behind ``at``; None where that is not known."""
        bases = self.mro(cls)
        behind = bases[bases.index(at) + 1 :] if at in bases else []
        outside = next((base for base in behind if not isinstance(base, ClassV)), None)
        return outside if isinstance(outside, Ext) else None
