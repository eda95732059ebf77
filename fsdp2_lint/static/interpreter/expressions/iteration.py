"""What a loop visits, and what a generator yields."""

from __future__ import annotations

from dataclasses import replace

from astroid import nodes

from ...budget import BUDGET
from ...domain.choices import choose
from ...domain.formulas import either
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.store import Items
from ...domain.values import (
    NONE,
    ClassV,
    Const,
    DictV,
    GuardedUnion,
    ListV,
    Obj,
    Params,
    ParamV,
    StateDict,
    Text,
    TupleV,
    Value,
    unknown,
)
from ..call import Call
from ..frames import FALL, RAISE, Diverges, Frame
from ..machine import L
from . import enums, owning
from .conditions import Conditions


class Iteration(Conditions[L]):
    def elements(self, value: Value, node: nodes.NodeNG) -> list[tuple[PathCondition, Value]]:
        """What a loop over ``value`` visits: each known element, or one that means each."""
        found: list[tuple[PathCondition, Value]] = []
        for guard, leaf in self.alternatives(self.libraries.unwrapped(value)):
            self.libraries.consumes(leaf, node, guard)
            held = self.iterated(leaf, node)
            for path, item in held.items:
                joined = guard.join(path)
                if joined is not None:
                    found.append((joined, item))
            if held.open_why and not held.items:  # code that was not followed has filled it, perhaps
                found.append((guard, unknown("an element", kind="opaque")))
        if any(guard is not TRUE for guard, _ in found):
            self.libraries.goes_through(found, node)
            found = self.few_of_data(found)
        if len(found) > BUDGET.visits:
            rest = [item for _, item in found[BUDGET.visits :]]
            self.libraries.havoc(f"a loop of more than {BUDGET.visits} rounds", Call(node, rest, {}))
        return found[: BUDGET.visits]

    def few_of_data(self, found: list[tuple[PathCondition, Value]]) -> list[tuple[PathCondition, Value]]:
        """Of many batches, each of which is there on some paths, the first few; one round stands for all others."""
        few, rest = found[: BUDGET.few_options], found[BUDGET.few_options :]
        if len(rest) < 2 or not all(self.is_data(item) for _, item in rest):
            return found
        together = TRUE.add(either([guard.formula for guard, _ in rest])) or TRUE
        return [*few, (together, choose(rest))]

    def is_data(self, item: Value) -> bool:
        """Is it a batch or a part of one: nothing that is called, trained, or says what is done?"""
        leaves = [leaf for leaf in self.inside(item) if not isinstance(leaf, (ListV, DictV, TupleV))]
        objects = [leaf for leaf in leaves if isinstance(leaf, Obj)]
        others = [leaf for leaf in leaves if not isinstance(leaf, Obj)]
        return (
            bool(objects)
            and all(isinstance(leaf, Const) and not isinstance(leaf.value, str) for leaf in others)
            and not any(leaf.atom.kind == "configuration" or self.matters(leaf, 0) for leaf in objects)
        )

    def iterated(self, leaf: Value, node: nodes.NodeNG) -> Items:
        """As ``listing``, but an iterator or a container that the project wrote is run: the former for one element."""
        if isinstance(leaf, GuardedUnion):
            return self.listing(leaf)
        typed = isinstance(leaf, Obj) and self.class_of(leaf) is not None
        start = self.find_attr(leaf, "__iter__") if typed else None
        advance = self.find_attr(leaf, "__next__") if typed else None
        if start is None and advance is None:
            return self.listing(leaf)
        try:
            held = self.call(start, Call(node, [])) if start is not None else leaf
            if advance is not None:
                return Items(((TRUE, self.call(advance, Call(node, []))),), False)
        except Diverges:
            return Items((), False)
        return self.listing(held) if isinstance(held, (ListV, TupleV, DictV)) else self.listing(leaf)

    def listing(self, leaf: Value) -> Items:
        """The contents of anything that can be iterated."""
        leaf = self.libraries.unwrapped(leaf)
        if isinstance(leaf, GuardedUnion):
            parts = [(guard, self.listing(one)) for guard, one in self.alternatives(leaf)]
            items = tuple(
                (joined, item) for guard, held in parts for path, item in held.items if (joined := guard.join(path))
            )
            why = next((held.open_why for _, held in parts if held.open_why), "")
            return Items(items, False, why)
        if isinstance(leaf, TupleV):
            return Items(tuple((TRUE, item) for item in leaf.items))
        if isinstance(leaf, ListV):
            held = self.items(leaf)
            return self.consumed(held) if leaf.lazy else held
        if isinstance(leaf, DictV):
            entries = self.entries(leaf)
            return Items(tuple((path, key) for key, path, _ in entries.entries), False, entries.open_why)
        if isinstance(leaf, Params):
            read = ParamV(leaf.model, self.now)
            return Items(((TRUE, TupleV((Text(False), read)) if leaf.named else read),), False)
        if isinstance(leaf, StateDict):
            return Items(((TRUE, self.libraries.state_keys(leaf)),), False)
        if isinstance(leaf, Obj):
            return self.libraries.object_listing(leaf)
        if isinstance(leaf, ClassV) and enums.is_enumeration(self, leaf):
            return Items(tuple((TRUE, each) for each in dict.fromkeys(enums.members(self, leaf).values())))
        return Items(((TRUE, self.libraries.part_of(leaf, each=True)),), False, "something that was not followed")

    def consumed(self, held: Items) -> Items:
        """A generator's parameters are read when it is consumed, not when it is written."""
        items = tuple(
            (path, replace(item, read=self.now) if isinstance(item, ParamV) else item) for path, item in held.items
        )
        return Items(items, held.exact, held.open_why)

    def eval_Yield(self, node: nodes.Yield) -> Value:
        value = self.eval(node.value) if node.value is not None else NONE
        frame = self.frame
        if frame.on_yield is None:
            frame.yields.append((self.guard, owning.dealt(self, value, node)))
            return unknown("what was sent to a generator")
        self.run_suspended(frame, value)
        return NONE

    def run_suspended(self, frame: Frame, value: Value) -> None:
        """The body of a ``with`` runs where its context manager yields."""
        frames, calls = self.frames, self.calls
        self.frames, self.calls = frames[:-1], calls[:-1]
        self.suspended.append(frame)
        entered = self.guard
        try:
            frame.flow_of_body |= frame.on_yield(value) if frame.on_yield is not None else FALL
            frame.behind.append(self.relative(self.guard, entered))
        except Diverges:  # what stands behind the yield is there to clean up
            frame.flow_of_body |= RAISE
        finally:
            self.suspended.pop()
            self.frames, self.calls = frames, calls

    def eval_YieldFrom(self, node: nodes.YieldFrom) -> Value:
        for guard, element in self.elements(self.eval(node.value), node):
            self.frame.yields.append((self.guard.join(guard) or self.guard, element))
        return NONE

    def statement_value(self, node: nodes.Expr, value: Value) -> None:
        """A value that a bare statement throws away (see ``Libraries.discarded``)."""
        self.libraries.discarded(node, value)
