"""Classes of the project: construction, method resolution, properties, ``super()``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from astroid import nodes

from ...domain.values import (
    NONE,
    PICK,
    SOME,
    Bound,
    BoundExt,
    ClassV,
    Const,
    DictV,
    Ext,
    Func,
    GuardedUnion,
    ListV,
    ModRef,
    Obj,
    Rank,
    StateDict,
    StateTensor,
    Super,
    TupleV,
    Value,
    unknown,
)
from ...frontend.module import Module
from ...frontend.origins import full_name
from ...frontend.packages import is_known_class
from ...frontend.torch_api import canonical
from ..call import Call
from ..expressions import domains, enums, flags
from ..expressions.registries import only_read
from ..machine import L
from ..syntax import class_body, decorator_names, initial_values, setters
from . import class_tables
from .bases import Bases

_CACHED = frozenset({"cached_property", "functools.cached_property", "lazy_property", "cached"})
_PROPERTIES = _CACHED | {"property", "abc.abstractproperty"}


class Classes(Bases[L]):
    # -- method resolution -----------------------------------------------------

    # -- attributes --------------------------------------------------------------

    def class_of(self, obj: Obj) -> ClassV | None:
        cls = obj.atom.cls if obj.parent is None else self.types.get(obj)
        if cls is None:
            cls = self.types.get(obj)
        return cls if isinstance(cls, ClassV) else None

    def project_classes(self, obj: Obj) -> list[ClassV]:
        """Its class and the bases of that which the project defines, in the order of lookup."""
        cls = self.class_of(obj)
        return [base for base in self.mro(cls) if isinstance(base, ClassV)] if cls is not None else []

    def find_attr(self, obj: Value, name: str) -> Value | None:
        """An attribute that the program defines: assigned, or in the class. None: derived."""
        if not isinstance(obj, Obj):
            return None
        stored: Value | None = self.store.get((obj, name))
        cls = self.class_of(obj)
        if stored is None and name in self.patched:
            stored = self.patched_member(obj, name)
        if stored is not None:
            self.reads += 1
            field = self.class_member(cls, name) if cls is not None else None
            if cls is not None and field is not None and isinstance(field[1], nodes.AnnAssign):
                self.declare(stored, field[0].module, field[1].annotation)
            return stored
        if cls is None:
            return self.libraries.entry_by_name(obj, name)
        if enums.is_enumeration(self, cls) and (member := enums.of_instance(self, obj, cls, name)) is not None:
            return member
        found = self.class_member(cls, name)
        if found is None:
            return self.rank_field(cls, name)
        return self.bind_member(obj, name, *found)

    def patched_member(self, obj: Obj, name: str) -> Value | None:
        """What the program itself put into a class of the object."""
        cls = self.class_of(obj)
        own = obj.atom.cls if obj.parent is None else None
        for base in self.mro(cls) if cls is not None else [own]:
            found = self.store.get((base, name))
            if found is not None:
                self.reads += 1
                return Bound(obj, found) if isinstance(found, Func) else found
            if isinstance(base, ClassV) and name in class_body(base.node):
                return None
        return None

    def rank_field(self, cls: ClassV, name: str) -> Value | None:
        """A rank that every instance reads off the environment when it is made, whoever makes it."""
        for base in self.mro(cls):
            node = initial_values(base.node).get(name) if isinstance(base, ClassV) else None
            if node is not None and isinstance(base, ClassV):
                value = self.class_default(base, node)
                return value if isinstance(value, Rank) else None
        return None

    def derive(self, key: Any, born: int) -> Value | None:
        """What an attribute or a global stands for where it was not assigned; nothing for other keys.

        Objects made after the ``born``-th do not exist on the side that did not assign it.
        """
        if isinstance(key, StateDict):
            return StateTensor(key)
        if not isinstance(key, tuple):
            return None
        owner, name = key
        if isinstance(owner, Obj):  # as of most
            return None if owner.atom.id > born else self.find_attr(owner, name) or owner.child(name)
        if isinstance(owner, Module) and name in owner.bindings:
            return None if self._is_still_to_come(owner, name) else self.global_name(owner, name)
        if isinstance(owner, Ext):
            if owner.qname == "os.environ":
                return self.libraries.environment(Const(name))
            return Ext(canonical(f"{owner.qname}.{name}"))
        return None

    def _is_still_to_come(self, module: Module, name: str) -> bool:
        """Is it assigned by statements of the script alone, which runs and has not come to any of them on this side?

        To look ahead would run them twice: a second optimizer, on no path that there is.
        """
        assigned = all(isinstance(each, (nodes.Assign, nodes.AnnAssign)) for each in module.bindings[name])
        return assigned and self.runs_as_script(module)

    def bind_member(self, obj: Obj, name: str, owner: ClassV, node: nodes.NodeNG) -> Value | None:
        """What a member of a class is for an object: a bound method, a property that is run, a field."""
        if isinstance(node, nodes.FunctionDef):
            kinds = decorator_names(node)
            func = Func(owner.module, node, owner.closure, owner)
            if kinds & _PROPERTIES:
                made = self.call_function(func, [], {}, node, receiver=obj)
                if kinds & _CACHED:
                    self.store.put((obj, name), made)
                return made
            func = self.decorated_method(node, func)
            if "staticmethod" in kinds:
                return func
            return Bound(self.class_of(obj) or owner, func) if "classmethod" in kinds else Bound(obj, func)
        if isinstance(node, nodes.ClassDef):
            return ClassV(owner.module, node, owner.closure)
        if isinstance(node, nodes.AnnAssign) and node.value is None:
            return self.declared_field(obj, owner, node)
        value = getattr(node, "value", None)
        if value is None:
            return None
        if self.is_dataclass_field(value) and isinstance(node, nodes.AnnAssign):
            return self.declared_field(obj, owner, node)
        if self.store.get((obj, SOME)) is not None:
            return self.declared_field(obj, owner, node) if isinstance(node, nodes.AnnAssign) else None
        found = self.class_default(owner, value)
        if (getter := self.find_attr(found, "__get__")) is not None:
            return self.call(getter, Call(node, [obj, self.class_of(obj) or NONE]))
        built = obj.parent is None and obj.atom.kind == "instance"
        # what somebody else built may have been given another value than the default
        of_project = enums.as_member(found) is not None or isinstance(found, Obj) and self.class_of(found) is not None
        if not built and isinstance(node, nodes.AnnAssign) and of_project:
            return self.declared_field(obj, owner, node)
        if found == NONE or not built and isinstance(found, Const):
            if isinstance(node, nodes.AnnAssign):
                domains.confine_to_annotation(self, obj.child(name), owner.module, node.annotation)
            return obj.child(name)
        return found

    def class_default(self, owner: ClassV, node: nodes.NodeNG) -> Value:
        """The value in a class body: one object, which other code may fill unless all of it only looks."""
        key = (owner, id(node))
        if key not in self.class_values:
            self.store.lasting += 1
            try:
                found = self.in_module(owner.module, lambda: self.eval(node)) or unknown("a class attribute")
                self.class_values[key] = found
                if isinstance(found, (DictV, ListV)) and not only_read(self.project, owner.module, node):
                    class_tables.fill(self, owner)
                    if not only_read(self.project, owner.module, node, class_tables.HOOK):
                        self.leave_open(found, "other code may fill it")
            finally:
                self.store.lasting -= 1
        return self.class_values[key]

    def decorated_method(self, node: nodes.FunctionDef, func: Func) -> Func:
        if node.decorators is None:
            return func
        if func not in self.method_values:
            self.store.lasting += 1  # they ran when the class was made, not in the branch that asks for the method
            try:
                wrapped = self.in_module(func.module, lambda: self.decorated(node, func), closure=func.closure)
            finally:
                self.store.lasting -= 1
            self.method_values[func] = replace(wrapped, owner=func.owner) if isinstance(wrapped, Func) else func
        return self.method_values[func]

    def declared_field(self, obj: Obj, owner: ClassV, node: nodes.AnnAssign) -> Value:
        child = obj.child(node.target.name)
        domains.confine_to_annotation(self, child, owner.module, node.annotation)
        cls = self.annotated_class(owner.module, node.annotation)
        if cls is not None:
            self.types.setdefault(child, cls)
        return child

    def is_dataclass_field(self, value: nodes.NodeNG) -> bool:
        return isinstance(value, nodes.Call) and full_name(value.func) == "dataclasses.field"

    def annotated_class(self, module: Module, annotation: nodes.NodeNG) -> ClassV | None:
        """The class that an annotation names; None where that is none of the project."""
        if (
            isinstance(annotation, nodes.Const)
            and isinstance(annotation.value, str)
            and annotation.value.isidentifier()
        ):
            value = self.global_name(module, annotation.value) if annotation.value in module.bindings else None
        elif isinstance(annotation, (nodes.Name, nodes.Attribute)):
            value = self.annotation(module, annotation)
        elif isinstance(annotation, nodes.BinOp) and annotation.op == "|":
            return self.annotated_class(module, annotation.left)
        elif isinstance(annotation, nodes.Subscript) and full_name(annotation.value) == "typing.Optional":
            return self.annotated_class(module, annotation.slice)
        else:
            return None
        return value if isinstance(value, ClassV) else None

    def get_attr(self, value: Value, name: str, node: nodes.NodeNG) -> Value:
        return self.over(value, lambda leaf: self.get_attr_of(leaf, name, node))

    def field_of_one(self, obj: Obj, name: str) -> Value | None:
        """A field of one of several objects, such as batches, that one stands for: what is kept in it is data alone."""
        several = obj.parent
        if several is None or obj.item != (PICK, None) or several.parent is not None or several.atom.kind != "instance":
            return None
        value = self.store.get((several, name)) if not several.atom.module else None
        if value is None or any(self.matters(leaf, 0) for leaf in self.inside(value)):
            return None
        return self.over(value, self.some_of)

    def get_attr_of(self, leaf: Value, name: str, node: nodes.NodeNG) -> Value:
        """An attribute of one value, by what it is."""
        if isinstance(leaf, GuardedUnion):
            return self.get_attr(leaf, name, node)
        if isinstance(leaf, Obj):
            found = self.find_attr(leaf, name)
            if found is None:
                found = self.looked_up_by_class(leaf, name, node) or self.field_of_one(leaf, name)
            return found if found is not None else self.libraries.object_attr(leaf, name, node)
        if isinstance(leaf, ModRef):
            return self.member(leaf.module, name)
        if isinstance(leaf, Ext):
            return self.ext_attr(leaf, name)
        if isinstance(leaf, ClassV):
            return self.class_attr_value(leaf, name)
        if isinstance(leaf, Super):
            found_super = self.class_member(self.class_of_receiver(leaf), name, behind=leaf.cls)
            if found_super is not None and isinstance(leaf.receiver, Obj):
                return self.bind_member(leaf.receiver, name, *found_super) or unknown(name)
            return BoundExt(leaf.receiver, name)
        if isinstance(leaf, Const) and (own := enums.of_member(self, leaf, name, node)) is not None:
            return own
        if isinstance(leaf, Const) and (own := flags.of_member(leaf, name)) is not None:
            return own
        if isinstance(leaf, (Func, Bound)) and (given := self.given_to_function(leaf, name)) is not None:
            return given
        if isinstance(leaf, (ListV, DictV, TupleV, Const)):
            return BoundExt(leaf, name)
        self.libraries.parameter_asked(leaf, name, node)
        return self.libraries.value_attr(leaf, name)

    def given_to_function(self, leaf: Func | Bound, name: str) -> Value | None:
        """An attribute that was set on a function, as decorators do; None where none of this name was."""
        function = leaf.func if isinstance(leaf, Bound) else leaf
        given: Value | None = self.store.get((function, name)) if name in self.patched else None
        return given

    def looked_up_by_class(self, obj: Obj, name: str, node: nodes.NodeNG) -> Value | None:
        """What ``__getattr__`` of a class of the project returns, where that is followed: a wrapper hands on."""
        cls = self.class_of(obj)
        found = self.class_member(cls, "__getattr__") if cls is not None and not name.startswith("__") else None
        if found is None or self.libraries.of_every_module(name) and obj.atom.module:
            return None
        if any(
            frame.func is not None and frame.func.node is found[1] and frame.receiver is obj for frame in self.frames
        ):
            return None
        getter = self.bind_member(obj, "__getattr__", *found)
        made = self.call(getter, Call(node, [Const(name)])) if getter is not None else None
        return None if made is None or self.is_unknown(made) else made

    def ext_attr(self, value: Ext, name: str) -> Value:
        patched: Value | None = self.store.get((value, name)) if name in self.patched else None
        if patched is not None:
            return patched
        if name in ("__name__", "__qualname__") and is_known_class(value.qname):
            return Const(value.qname.rsplit(".", 1)[-1])
        return Ext(canonical(f"{value.qname}.{name}"))

    def class_attr_value(self, cls: ClassV, name: str) -> Value:
        """``Class.name``; unknown where a base was not seen."""
        stored: Value | None = self.store.get((cls, name))
        if stored is not None:
            return stored
        if name in ("__name__", "__qualname__"):
            return Const(cls.name)
        if enums.is_enumeration(self, cls) and (member := enums.of_class(self, cls, name)) is not None:
            return member
        if flags.is_flags(self, cls) and (bits := flags.of_class(self, cls, name)) is not None:
            return bits
        if name == "__dict__":
            return class_tables.own_names(self, cls)
        found = self.class_member(cls, name)
        if found is None and name == class_tables.SUBCLASSES:
            return BoundExt(cls, name)
        if found is None:
            ext = next((base for base in self.mro(cls) if isinstance(base, Ext)), None)
            return Ext(f"{ext.qname}.{name}") if ext is not None else unknown(f"{cls.name}.{name}")
        owner, node = found
        if isinstance(node, nodes.FunctionDef):
            func = self.decorated_method(node, Func(owner.module, node, owner.closure, owner))
            return Bound(cls, func) if "classmethod" in decorator_names(node) or name == "__new__" else func
        if isinstance(node, nodes.ClassDef):
            return ClassV(owner.module, node, owner.closure)
        value = getattr(node, "value", None)
        default = self.class_default(owner, value) if value is not None else NONE
        if default == NONE:  # set elsewhere, or nobody would read it
            default = self.class_values.setdefault((cls, name), unknown(f"{cls.name}.{name}", kind="configuration"))
        return default

    def descriptor_setter(self, obj: Obj, name: str) -> Value | None:
        """``__set__`` of an object in the class body that stands for an attribute."""
        cls = self.class_of(obj)
        found = self.class_member(cls, name) if cls is not None else None
        value = getattr(found[1], "value", None) if found is not None else None
        if found is None or not isinstance(value, nodes.Call):
            return None
        return self.find_attr(self.class_default(found[0], value), "__set__")

    def property_setter(self, obj: Obj, name: str) -> Func | None:
        cls = self.class_of(obj)
        if cls is None:
            return None
        for base in self.mro(cls):
            if isinstance(base, ClassV) and (node := setters(base.node).get(name)) is not None:
                return Func(base.module, node, base.closure, base)
        return None
