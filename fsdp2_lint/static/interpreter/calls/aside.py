"""Which calls of project functions are not worth following: code that has no part in what is checked."""

from __future__ import annotations

from collections.abc import Iterator

from astroid import nodes

from ...budget import BUDGET
from ...domain import events
from ...domain.choices import options
from ...domain.values import (
    Bound,
    ClassV,
    Cond,
    Func,
    ListV,
    Loaded,
    Obj,
    Params,
    ParamV,
    Partial,
    StateDict,
    StateTensor,
    Value,
)
from ...frontend import relevance
from ...frontend.module import Module
from ...frontend.names import calls_values, is_predicate, lengthy, names_in
from ...frontend.packages import builds_models
from ..expressions import own_values
from ..machine import L
from ..syntax import class_body, hands_out_code
from .bounds import Bounds

_OF_DATA = frozenset("__init__ __post_init__ __new__ __repr__ __str__ __eq__ __hash__ __len__".split())


class Aside(Bounds[L]):
    def pointless(self, func: Func, args: list[Value], kwargs: dict[str, Value], receiver: Value | None) -> bool:
        """Code that has no part in what is checked, with nothing of it in its hands."""
        if func.closure or func.name in ("__init__", "__post_init__"):
            return False
        if hands_out_code(func.node) or calls_values(func.node):
            return False
        near = func.module.mentions_torch or self.project.is_relevant(func.module.path)
        if near and not lengthy(func.node) or is_predicate(func.node):
            return False
        used = next(self.trace.of(events.DeviceSet, events.DeviceTouch), None) is not None
        least = relevance.DEVICE if used else relevance.NONE
        if near or self.project.relevance.comes_to_torch(func.module, func.node):
            if self.project.relevance.level(func.module, func.node) > least:
                return False
        handed = [*args, *kwargs.values(), *([receiver] if receiver is not None else [])]
        if any(self.matters(leaf, 0) for value in handed for leaf in self.inside(value)):
            return False
        if self.project.relevance.makes_settings(func.module, func.node):
            return False
        kept = self.kept_under(names_in(func.node), handed)
        named = [*self.methods_named(func, handed, kept)]
        kept += self.kept_under(frozenset[str]().union(*(names_in(node) for _, node in named)), handed)
        if any(map(self.of_some_ranks, kept)) or self.leaves_own(func, [*handed, *kept]):
            return False
        if self.keeps_code(func, [*args, *kwargs.values()]):
            return False
        if any(each in self.unordered for each in kept if isinstance(each, ListV)):
            return False  # what a set holds says whether its order is that of other ranks
        return not any(self.project.relevance.level(*method) > least for method in named)

    def kept_under(self, names: frozenset[str], handed: list[Value]) -> list[Value]:
        """What the objects among these values keep in attributes of these names."""
        objects = [leaf for value in handed for leaf in self.inside(value) if isinstance(leaf, Obj)]
        found = (
            self.store.get((leaf, name))
            for leaf in objects
            for name in self.store.fields.get(leaf, ())
            if name in names
        )
        return [value for value in found if value is not None]

    def leaves_own(self, func: Func, given: list[Value]) -> bool:
        """May it set a field by what a rank has for itself, such as whether to stop by a loss?"""
        writes = self.project.relevance.written(func.module, func.node)
        return self.owned and writes != frozenset() and own_values.first(self, given) is not None

    def keeps_code(self, func: Func, given: list[Value]) -> bool:
        """May it keep an object that has code of its own, such as a callback, for others to call?"""
        if self.project.relevance.written(func.module, func.node) == frozenset():
            return False
        objects = [leaf for value in given for leaf in self.inside(value) if isinstance(leaf, Obj)]
        classes = [cls for cls in dict.fromkeys(map(self.class_of, objects)) if cls is not None]
        bases = [base for cls in classes for base in self.mro(cls) if isinstance(base, ClassV)]
        found = ((name, node) for base in bases for name, node in class_body(base.node).items())
        return any(isinstance(node, nodes.FunctionDef) and name not in _OF_DATA for name, node in found)

    def of_some_ranks(self, value: Value) -> bool:
        """Is it something else on some ranks, such as a file that one of them has opened?"""
        asked = [formula for path, _ in options(value) for formula, _ in path.literals]
        asked += [leaf.formula for _, leaf in options(value) if isinstance(leaf, Cond)]
        return self.per_rank(value) is True or any(map(self.about_rank, asked))

    def methods_named(
        self, func: Func, handed: list[Value], kept: list[Value]
    ) -> Iterator[tuple[Module, nodes.FunctionDef]]:
        """Methods that a function names, of objects that it has in hand or that those keep."""
        names = names_in(func.node)
        objects = [leaf for value in (*handed, *kept) for leaf in self.inside(value) if isinstance(leaf, Obj)]
        classes = [cls for cls in dict.fromkeys(map(self.class_of, objects)) if cls is not None]
        bases = [base for cls in classes for base in self.mro(cls) if isinstance(base, ClassV)]
        for base in bases:
            for name, node in class_body(base.node).items():
                if name in names and isinstance(node, nodes.FunctionDef) and node is not func.node:
                    yield base.module, node

    def matters(self, leaf: Value, depth: int, *, code: bool = True) -> bool:
        """May a call with this value have a part in what the rules are about?

        ``code``: whoever has a function or a class may call it. Otherwise only what it has in its hands counts.
        """
        if isinstance(leaf, ClassV):
            return code and leaf.module.mentions_torch
        if isinstance(leaf, Bound) and not code:
            return any(self.matters(part, depth, code=False) for part in self.inside(leaf.receiver))
        if isinstance(leaf, Func):
            return code or bool(leaf.closure)
        if not isinstance(leaf, Obj):
            return isinstance(leaf, (Params, ParamV, StateDict, StateTensor, Loaded, Bound, Partial))
        atom = leaf.atom
        if leaf in self.libraries.optimizers or atom.module or atom.wrapper or atom.framework:
            return True
        if self.libraries.in_sharded(leaf) or self.libraries.is_loader(leaf):
            return True
        if leaf.atom.kind == "unknown" and builds_models(leaf.atom.origin):
            return True
        if depth > BUDGET.held_depth:
            return bool(self.store.fields.get(leaf))
        held = [
            value for name in self.store.fields.get(leaf, ()) if (value := self.store.get((leaf, name))) is not None
        ]
        return any(self.matters(part, depth + 1, code=code) for value in held for part in self.inside(value))
