"""What is not understood changes things: the one place that says what a piece of code may have changed.

A statement, expression, target or pattern of a kind that the interpreter has no method for comes here, from
``exec``, ``eval``, ``assign``, ``delete`` and ``pattern``. Whatever its names hold is in unknown hands from
then on, whatever it binds is unknown, and whoever waits for what it returns or yields gets something unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from astroid import nodes

from ...domain.choices import perhaps_other
from ...domain.store import Entries, Items
from ...domain.values import (
    NONE,
    SOME,
    Bound,
    Const,
    DictV,
    Func,
    ListV,
    Obj,
    Partial,
    Text,
    TupleV,
    Value,
    unknown,
)
from ..call import Call
from ..frames import FALL, RETURN
from ..machine import L, Machine

_SCOPES = (nodes.FunctionDef, nodes.ClassDef, nodes.Lambda)
_BINDS = (nodes.AssignName, nodes.DelName)


class Havoc(Machine[L]):
    def havoc(self, node: nodes.NodeNG, *handed: Value) -> Obj:
        """Code that is not understood: all that its names hold may be changed, all that it binds is unknown.

        ``handed``: what it gets besides, such as what is assigned to it.
        """
        who = f"a {type(node).__name__} that is not understood"
        held = [*handed, *(self.lookup(name) for name in sorted(names_read(node)))]
        self.libraries.havoc(who, Call(node, [*held, *self.behind(held)]))
        for frame in (*self.frames, *self.suspended):
            self.unfinished.add(frame.id)
        self.rebound(node)
        self.perhaps_yields(node)
        return unknown(who, kind="opaque")

    def skipped(self, node: nodes.NodeNG) -> int:
        """A statement of a kind that is not known; it may be one that returns."""
        made = self.havoc(node)
        if not any(isinstance(part, nodes.Return) for part in within(node)):
            return FALL
        _, arm_of = self.fork()
        self.frame.returns.append((self.guard.add(arm_of(0)) or self.guard, made))
        self.guard = self.guard.add(arm_of(1)) or self.guard
        return FALL | RETURN

    def open_data(
        self, handed: list[Value], why: str, names: frozenset[str] | None = None, written: frozenset[str] | None = None
    ) -> None:
        """Data that unseen code may fill or set: conditions on it are open from here on.

        ``names``: all that the code mentions, where that is known; it leaves fields of other names alone. ``written``:
        those of them that it does more with than read, where that is known.
        """
        for value in handed:
            for leaf in self.inside(value):
                if isinstance(leaf, (ListV, DictV)):
                    self.open_up(leaf, why)
                elif isinstance(leaf, Obj) and not leaf.atom.module:
                    for name in self.store.fields.get(leaf, ()):
                        held = self.store.get((leaf, name)) if names is None or name in names else None
                        if isinstance(held, (ListV, DictV, Const)) and not (written is None or name in written):
                            continue
                        if isinstance(held, (ListV, DictV)):
                            self.open_up(held, why)
                        elif isinstance(held, Const):
                            self.store.put((leaf, name), leaf.child(name))
                        elif isinstance(held, Obj) and self.is_group(held):
                            self.open_group(held, why, names, handed)

    def blur(self, func: Func, handed: list[Value]) -> None:
        """A function that is not run was handed these."""
        relevance = self.project.relevance
        names, written = (ask(func.module, func.node) for ask in (relevance.mentioned, relevance.written))
        if names is not None and written is not None:
            names |= written  # what is only set is read by no name
        self.open_data(handed, f"{func.name}() may change", names, written)

    def is_group(self, obj: Obj) -> bool:
        """Is it an object of the project that holds numbers and texts alone, such as a group of settings?"""
        if obj.atom.kind != "instance" or obj.parent is not None or obj.atom.module:
            return False
        held = (self.store.get((obj, name)) for name in self.store.fields.get(obj, ()))
        return all(isinstance(each, (Const, Text)) for each in held)

    def open_group(self, obj: Obj, why: str, names: frozenset[str] | None, handed: list[Value]) -> None:
        """Another of its kind may stand in its place, with values made of what the code was ``handed``."""
        if names is not None:
            self.open_data([obj], why, names)
        else:
            made = unknown(f"a value that {why}")
            made.atom.keeps = tuple(
                value for value in handed if not (isinstance(value, Obj) and value.atom.kind == "instance")
            )
            self.set_some_field(obj, made)

    def set_some_field(self, obj: Obj, value: Value) -> None:
        self.any_field_set(obj)
        self.store.put((obj, SOME), value)

    def any_field_set(self, obj: Obj) -> None:
        """A field was set of which nobody knows the name: numbers and texts may be others now, and lists of these."""
        for name in list(self.store.fields.get(obj, ())):
            held = self.store.get((obj, name))
            plain = isinstance(held, (Const, ListV, DictV, TupleV)) and all(
                isinstance(part, (Const, ListV, DictV, TupleV)) for part in self.inside(held)
            )
            if plain:
                self.store.put((obj, name), obj.child(name))

    def open_groups(self, obj: Obj, given: Value) -> None:
        """An attribute was set of which nobody knows the name: it may be any group that the object holds."""
        for name in list(self.store.fields.get(obj, ())):
            for held in self.inside(self.store.get((obj, name)) or NONE):
                if isinstance(held, Obj) and self.is_group(held):
                    self.set_some_field(held, given)

    def open_up(self, held: ListV | DictV, why: str) -> None:
        contents = self.store.get(held.id)
        if isinstance(contents, Items) and not contents.open_why:
            items = tuple((path, perhaps_other(item, why)) for path, item in contents.items)
            self.store.put(held.id, Items(items, False, why))
            self.open_all(why, (item for _, item in contents.items))
        elif isinstance(contents, Entries) and not contents.open_why:
            entries = tuple((key, path, perhaps_other(item, why)) for key, path, item in contents.entries)
            self.store.put(held.id, Entries(entries, why))
            self.open_all(why, (item for _, _, item in contents.entries))

    def open_all(self, why: str, parts: Iterable[Value]) -> None:
        """Who fills a container may fill those in it."""
        for part in parts:
            for _, leaf in self.alternatives(part):
                if isinstance(leaf, (ListV, DictV)):
                    self.open_up(leaf, why)

    def rebound(self, node: nodes.NodeNG) -> None:
        """What a piece of code binds: its names, and attributes and items of what its names hold."""
        for name in names_bound(node):
            self.bind_local(name, unknown(name, kind="opaque"))
        for part in within(node):
            if isinstance(part, (nodes.AssignAttr, nodes.DelAttr)) and isinstance(part.expr, nodes.Name):
                for _, leaf in self.alternatives(self.lookup(part.expr.name)):
                    if isinstance(leaf, Obj):
                        self.store.put((leaf, part.attrname), unknown(part.attrname, kind="opaque"))

    def perhaps_yields(self, node: nodes.NodeNG) -> None:
        """The body of a ``with`` runs where its context manager yields, whatever stands around that."""
        if not self.frames or not any(isinstance(part, (nodes.Yield, nodes.YieldFrom)) for part in within(node)):
            return
        value, frame = unknown("what is yielded", kind="opaque"), self.frame
        if frame.on_yield is None:
            frame.yields.append((self.guard, value))
        else:
            self.run_suspended(frame, value)

    def behind(self, held: list[Value]) -> list[Value]:
        """What functions can reach besides their arguments: what they close over, and globals that they mention."""
        found: list[Value] = []
        for value in held:
            for leaf in self.inside(value):
                func = leaf.func if isinstance(leaf, (Bound, Partial)) else leaf
                if isinstance(func, Func):
                    found += self.reached_by(func)
        return found

    def reached_by(self, func: Func) -> list[Value]:
        names = self.project.relevance.mentioned(func.module, func.node)
        scopes: set[object] = {func.module}
        at = func.closure
        while at:
            scopes.add(at)
            at = self.closures.get(at, 0)
        return [
            value
            for key, value in list(self.store.state.items())
            if isinstance(key, tuple) and key[0] in scopes and (names is None or key[1] in names)
        ]


def names_read(node: nodes.NodeNG) -> set[str]:
    """Names that code mentions, inside functions that it defines as well; one that it deletes counts."""
    return {part.name for part in node.nodes_of_class((nodes.Name, nodes.DelName))}


def names_bound(node: nodes.NodeNG) -> dict[str, None]:
    """Names that a piece of code binds where it stands, in order."""
    found: dict[str, None] = {}
    for part in within(node):
        if isinstance(part, (*_BINDS, nodes.FunctionDef, nodes.ClassDef)):
            found[part.name] = None
        elif isinstance(part, (nodes.Import, nodes.ImportFrom)):
            found.update(dict.fromkeys((alias or name).split(".")[0] for name, alias in part.names))
    return found


def within(node: nodes.NodeNG) -> Iterator[nodes.NodeNG]:
    """A node and what stands in it; of functions and classes the head alone, their bodies have names of their own."""
    yield node
    for child in () if isinstance(node, _SCOPES) else node.get_children():
        yield from within(child)


def own_parts(func: nodes.FunctionDef | nodes.Lambda) -> Iterator[nodes.NodeNG]:
    """What stands in a function itself, not in those that it defines."""
    for child in func.get_children():
        yield from within(child)
