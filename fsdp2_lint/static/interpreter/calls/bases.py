"""Bases of classes, and which of them has a name."""

from __future__ import annotations

from astroid import nodes

from ...domain.values import ClassV, Ext, Value, unknown
from ..machine import L
from ..syntax import class_body
from .construction import Construction


class Bases(Construction[L]):
    def mro(self, cls: ClassV) -> list[Value]:
        """The class and its bases, outside ones as :class:`Ext` or unknown; depth first."""
        key = cls.node, cls.closure
        if (known := self.mros.get(key)) is not None:
            return known
        self.mros[key] = [cls]
        order: list[Value] = [cls]
        for base in cls.node.bases:
            value = self.base_class(cls, base)
            for _, leaf in self.alternatives(value):
                for item in self.mro(leaf) if isinstance(leaf, ClassV) else [leaf]:
                    if item in order:
                        order.remove(item)
                    order.append(item)
        if maker := self.made_by_unseen(cls):
            order.append(unknown(maker, kind="opaque"))
        self.mros[key] = order
        return order

    def base_class(self, cls: ClassV, base: nodes.NodeNG) -> Value:
        if isinstance(base, nodes.Subscript):  # Generic[T]
            base = base.value
        return self.in_module(cls.module, lambda: self.eval(base), closure=cls.closure) or unknown("a base class")

    def is_module_class(self, cls: Value) -> bool | None:
        """Is it an ``nn.Module``? None where a base class is not known."""
        if isinstance(cls, Ext):
            return self.libraries.external_is_module(cls.qname)
        if not isinstance(cls, ClassV):
            return None
        answers = [
            self.libraries.external_is_module(base.qname) if isinstance(base, Ext) else None
            for base in self.mro(cls)
            if not isinstance(base, ClassV)
        ]
        if True in answers:
            return True
        return None if None in answers else False

    def class_member(
        self, cls: ClassV, name: str, *, behind: ClassV | None = None
    ) -> tuple[ClassV, nodes.NodeNG] | None:
        order = self.mro(cls)
        if behind is not None:
            order = order[order.index(behind) + 1 :] if behind in order else []
        for base in order:
            if isinstance(base, ClassV):
                found = class_body(base.node).get(name)
                if found is not None:
                    return base, found
        return None

    def closed_class(self, cls: ClassV) -> bool:
        """Are all its bases known to us, with all that they have?"""
        return all(
            isinstance(base, ClassV) or isinstance(base, Ext) and self.libraries.known_whole(base.qname)
            for base in self.mro(cls)
        )
