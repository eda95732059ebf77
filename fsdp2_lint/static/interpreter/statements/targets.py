"""Assignment: names, attributes (where modules adopt their children), items, unpacking."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from astroid import nodes

from ...domain import events
from ...domain.choices import choose
from ...domain.formulas import Formula, atoms
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.store import KNOWN_KEYS, Entries, Items
from ...domain.values import (
    EACH,
    PICK,
    ClassV,
    Const,
    DictV,
    Ext,
    Func,
    ListV,
    ModRef,
    Obj,
    ParamV,
    StateDict,
    TupleV,
    Value,
    is_one_of,
    unknown,
)
from ...frontend.module import Module
from ..call import Call
from ..expressions import own_values
from ..expressions.registries import counted_by_constants, counters
from ..frames import Diverges
from ..machine import L
from .carried import carry
from .havoc import Havoc, own_parts
from .in_turn import each_in_turn, replaced_in_turn


class Targets(Havoc[L]):
    def bind_local(self, name: str, value: Value) -> None:
        scope = self.scope_of(name)
        self.store.put((scope, name), self.begun(name, value), local=scope is not self.frame.module)

    def scope_of(self, name: str) -> Module | int:
        """Where the code that runs binds a name: its file, for a script and for names that are global, or its call."""
        frame = self.frame
        return frame.module if frame.func is None or name in self.outer_names(frame) else frame.id

    def begun(self, name: str, value: Value, owner: Obj | None = None) -> Value:
        """The number that a counter begins with is not what it stays: nobody knows how often its code runs.

        What counts it stands in this file or in that of its object's class; an attribute that begins as most counters
        do, with nothing or one, may be counted in any file.
        """
        if not (isinstance(value, Const) and isinstance(value.value, (int, float))):
            return value
        classes = self.project_classes(owner) if owner is not None else []
        files = [self.frame.module, *(base.module for base in classes)]
        if any(name in counters(file) for file in files):
            return counter(name, files)
        counts = rf"{re.escape(name)}\s*[+-]="
        if owner is None or isinstance(value.value, bool) or abs(value.value) > 1 or not self.project.anywhere(counts):
            return value
        return unknown(name) if self.project.anywhere(rf"{counts}\s*(?!\d)\S") else counter(name, [])

    def outer_names(self, frame: Any) -> set[str]:
        """Names that a function declares ``global``."""
        node = frame.func.node
        found = getattr(node, "fsdp2_globals", None)
        if found is None:
            parts = [part for part in own_parts(node) if isinstance(part, nodes.Global)]
            found = {name for part in parts for name in part.names}
            node.fsdp2_globals = found
        return found

    def assign(self, target: nodes.NodeNG, value: Value) -> None:
        """Bind a target of any kind."""
        if isinstance(target, nodes.AssignName):
            self.rebind(target, value)
        elif isinstance(target, nodes.AssignAttr):
            owner = self.eval(target.expr)
            for guard, leaf in self.alternatives(owner):
                self.assign_attr(leaf, target.attrname, value, target, guard)
        elif isinstance(target, nodes.Subscript):
            self.set_item(self.eval(target.value), self.eval(target.slice), value, target)
        elif isinstance(target, (nodes.Tuple, nodes.List)):
            self.unpack(target, value)
        elif isinstance(target, nodes.Starred):
            self.assign(target.value, value)
        else:
            self.havoc(target, value)

    def assign_attr(self, leaf: Value, name: str, value: Value, node: nodes.NodeNG, guard: PathCondition) -> None:
        """``leaf.name = value``, where the owner is ``leaf`` on a path."""
        self.libraries.parameter_marked(leaf, name, node)
        if isinstance(leaf, Obj):
            old = self.store.get((leaf, name)) or leaf.child(name)
            new = value if guard is TRUE else choose([(guard, value), *self.rest(guard, old)])
            self.set_attr(leaf, name, new, node)
        elif isinstance(leaf, ParamV) and name == "requires_grad":
            self.libraries.frozen(leaf, value, node)
        elif isinstance(leaf, ParamV) and name == "grad":
            for _, model in self.alternatives(leaf.model):
                self.emit(events.Zeroed(), node, model if isinstance(model, Obj) else None)
        elif isinstance(leaf, ParamV):
            self.libraries.overwritten(leaf, node, name)
        else:
            self.patch(leaf, name, value, node, guard)

    def patch(self, leaf: Value, name: str, value: Value, node: nodes.NodeNG, path: Any = TRUE) -> None:
        """An attribute of a file, a class or another package is set; what the latter keeps is in its hands."""
        if isinstance(leaf, ModRef):
            new = value if path is TRUE else choose([(path, value), *self.rest(path, self.member(leaf.module, name))])
            self.store.put((leaf.module, name), self.begun(f".{name}", new))
        elif isinstance(leaf, (ClassV, Func)):
            self.patched.add(name)
            self.store.put((leaf, name), value)
        elif isinstance(leaf, Ext):
            self.patched.add(name)
            self.store.put((leaf, name), value)
            if not self.libraries.harmless(leaf.qname):
                self.libraries.keep(leaf.qname, value, node)

    def rest(self, guard: Any, old: Value) -> list[Any]:
        """The old value, on the paths where ``guard`` does not hold."""
        from ...domain.formulas import negate

        formula = negate(guard.formula)
        path = TRUE.add(formula)
        return [(path, old)] if path is not None else []

    def rebind(self, target: nodes.AssignName, value: Value) -> None:
        """A name is bound; closures with ``nonlocal`` write where the name lives."""
        frame = self.frame
        if frame.func is not None and (frame.id, target.name) not in self.store.state:
            at = self.closures.get(frame.id, 0)
            if at and self.declares_nonlocal(frame.func.node, target.name):
                while at:
                    if (at, target.name) in self.store.state:
                        self.store.put((at, target.name), value)
                        return
                    at = self.closures.get(at, 0)
        self.bind_local(target.name, value)

    def declares_nonlocal(self, node: nodes.NodeNG, name: str) -> bool:
        found: frozenset[str] | None = getattr(node, "fsdp2_nonlocals", None)
        if found is None:
            parts = [part for part in own_parts(node) if isinstance(part, nodes.Nonlocal)]
            found = node.fsdp2_nonlocals = frozenset(name for part in parts for name in part.names)
        return name in found

    def set_attr(self, owner: Obj, name: str, value: Value, node: nodes.NodeNG) -> None:
        setter = self.property_setter(owner, name)
        if setter is not None:
            self.call_function(setter, [value], {}, node, receiver=owner)
            return
        if (stores := self.descriptor_setter(owner, name)) is not None:
            self.call(stores, Call(node, [owner, value]))
            return
        self.libraries.attached(owner, name, value, node)
        if not self.libraries.own_tensor(owner, name):
            begun = self.begun(f".{name}", value, owner)
            carry(self, self.store.get((owner, name)), value, begun)
            self.store.put((owner, name), begun)

    def set_item(self, container: Value, key: Value, value: Value, node: nodes.NodeNG) -> None:
        """``container[key] = value``, by what the container is."""
        if not isinstance(key, Const):
            self.made_often(value)
        for guard, leaf in self.alternatives(container):
            if isinstance(leaf, DictV):
                entries = self.entries(leaf)
                if isinstance(key, KNOWN_KEYS):
                    value = self.begun(f"[{key.value}]", value) if isinstance(key, Const) else value
                    old = entries.get(key)
                    new = value if guard is TRUE or old is None else choose([(guard, value), *self.rest(guard, old)])
                    self.store.put(leaf.id, entries.put(key, new))
                elif each_in_turn(self, key) and any(own is key for own, _, _ in entries.entries):
                    self.store.put(leaf.id, replaced_in_turn(self, entries, key, value, guard))
                elif not entries.holds(value, guard):
                    self.store.put(leaf.id, Entries((*entries.entries, (key, guard, value)), entries.open_why))
            elif isinstance(leaf, ListV):
                held = self.items(leaf)
                if (
                    isinstance(key, Const)
                    and held.exact
                    and isinstance(key.value, int)
                    and -len(held.items) <= key.value < len(held.items)
                ):
                    items = list(held.items)
                    items[key.value] = (items[key.value][0], value)
                    self.store.put(leaf.id, replace(held, items=tuple(items)))
                elif all(item != value and not is_one_of(value, item) for _, item in held.items):
                    replaced = ((TRUE, value),) if self.fills_each(key) else (*held.items, (guard, value))
                    self.store.put(leaf.id, replace(held, items=replaced, exact=False))
            elif isinstance(leaf, Obj):
                self.libraries.stored_item(leaf, key, value, node)
            elif isinstance(leaf, ModRef) and isinstance(key, Const):
                self.patch(leaf, str(key.value), value, node, guard)
            elif leaf == Ext("os.environ") and isinstance(key, Const):
                self.store.put((leaf, str(key.value)), value)
            elif isinstance(leaf, Ext) and not self.libraries.harmless(leaf.qname):
                self.libraries.keep(leaf.qname, value, node)
            elif isinstance(leaf, ModRef):
                self.libraries.keep("a global of a computed name", value, node)
            elif isinstance(leaf, ParamV):
                self.libraries.overwritten(leaf, node)
            elif isinstance(leaf, StateDict):
                self.libraries.state_put(leaf, key, value, guard)

    def fills_each(self, key: Value) -> bool:
        """Is this the index of a loop over the whole list?"""
        return isinstance(key, Obj) and key.item == EACH

    def unpack(self, target: nodes.Tuple | nodes.List, value: Value) -> None:
        targets = target.elts
        options = [leaf for _, leaf in self.alternatives(value)]
        if options and all(self.other_number(leaf, targets) for leaf in options):
            raise Diverges  # a ValueError
        for position, part in enumerate(targets):
            self.assign(part, self.unpacked(value, position, len(targets), isinstance(part, nodes.Starred)))

    def other_number(self, leaf: Value, targets: list[nodes.NodeNG]) -> bool:
        """Are there surely more or fewer items than names for them?"""
        held = self.items(leaf) if isinstance(leaf, ListV) and not leaf.lazy else None
        held = self.listing(leaf) if isinstance(leaf, TupleV) else held
        if held is None or not held.exact or held.open_why or any(path is not TRUE for path, _ in held.items):
            return False
        starred = any(isinstance(part, nodes.Starred) for part in targets)
        return len(held.items) < len(targets) - 1 if starred else len(held.items) != len(targets)

    def unpacked(self, value: Value, position: int, wanted: int, starred: bool) -> Value:
        def pick(leaf: Value) -> Value:
            if isinstance(leaf, TupleV) and (len(leaf.items) == wanted or position < len(leaf.items)) and not starred:
                return leaf.items[position]
            if isinstance(leaf, ListV):
                held = self.items(leaf)
                if held.exact and position < len(held.items) and not starred:
                    return choose([held.items[position]])
                each = choose(list(held.items)) if len(held.items) == 1 else unknown("an element of a list")
                return each.child((PICK, position)) if isinstance(each, Obj) and wanted > 1 else each
            if isinstance(leaf, Obj):
                return self.libraries.item_of(leaf, Const(position), self.frame.module.tree)
            return self.libraries.part_of(leaf)

        return choose([(guard, pick(leaf)) for guard, leaf in self.alternatives(value)] or [(TRUE, unknown("nothing"))])

    def augment(self, node: nodes.AugAssign) -> None:
        """``target op= value``: in place for lists, dicts and tensors, else a new value."""
        added = self.eval(node.value)
        target = node.target
        if isinstance(target, nodes.AssignName):
            old = self.lookup(target.name)
        elif isinstance(target, nodes.AssignAttr):
            old = self.get_attr(self.eval(target.expr), target.attrname, target)
        else:
            old = self.eval(target)
            self.libraries.augmented(node)
            for _, leaf in self.alternatives(old):
                if isinstance(leaf, ParamV):
                    self.libraries.overwritten(leaf, node)
            if self.owned and own_values.first(self, [added]) is not None:  # else what is counted there stays open
                self.assign(target, self.binary(node.op[:-1], old, added))
            return
        for _, leaf in self.alternatives(old):
            if isinstance(leaf, ParamV):
                self.libraries.overwritten(leaf, node)
                if node.op in ("*=", "/="):
                    self.libraries.multiplied(leaf, added, node)
            if isinstance(leaf, ListV) and node.op in ("+=", "|="):
                self.extend(leaf, added)
                return
            if isinstance(leaf, ListV):
                self.open_up(leaf, f"{node.op} changes in place")
        if any(not isinstance(leaf, ListV) for _, leaf in self.alternatives(old)):
            counted = self.loops and isinstance(old, Const) and not isinstance(old.value, str)
            self.assign(target, self.counted(old, added) if counted else self.binary(node.op[:-1], old, added))
            self.count(target)

    def counted(self, old: Value, added: Value) -> Value:
        """What a loop has counted up: one round is run for all."""
        made = unknown("a counter")
        self.carried[made] = (old, added)
        return made

    def count(self, target: nodes.NodeNG) -> None:
        """Remember what is counted on paths that not all ranks take."""
        if isinstance(target, nodes.AssignAttr) and any(map(self.parts_ranks, self.guard.literals)):
            self.counted_apart.add(f".{target.attrname}")

    def parts_ranks(self, literal: tuple[Formula, bool]) -> bool:
        return any(atom in self.rank_sites or atom in self.own_sites for atom in atoms(literal[0]))

    def extend(self, target: ListV, added: Value) -> None:
        held = self.items(target)
        more, exact, why = [], held.exact, held.open_why
        for guard, leaf in self.alternatives(added):
            found = self.listing(leaf)
            more += [(joined, item) for path, item in found.items if (joined := guard.join(path)) is not None]
            exact = exact and found.exact and guard is TRUE
            why = why or found.open_why
        self.store.put(target.id, Items((*held.items, *more), exact, why))

    def delete(self, target: nodes.NodeNG) -> None:
        """``del target``: what is deleted is unknown from here on."""
        if isinstance(target, nodes.Subscript):
            container, key = self.eval(target.value), self.eval(target.slice)
            for _, leaf in self.alternatives(container):
                self.delete_item(leaf, key, target)
        elif isinstance(target, nodes.DelName):
            self.bind_local(target.name, unknown(f"{target.name}, which is deleted"))
        elif isinstance(target, (nodes.Tuple, nodes.List)):
            for part in target.elts:
                self.delete(part)
        elif isinstance(target, nodes.DelAttr):
            for _, leaf in self.alternatives(self.eval(target.expr)):
                self.delete_attr(leaf, target)
        else:
            self.havoc(target)

    def delete_attr(self, leaf: Value, target: nodes.DelAttr) -> None:
        """A module without one of its parts is another one: which parts it has now is open."""
        if isinstance(leaf, Obj):
            self.store.put((leaf, target.attrname), unknown(f"{target.attrname}, which is deleted"))
            if not self.only_forgets(leaf, target.attrname):
                self.libraries.escape(Call(target, [leaf]), "del")

    def only_forgets(self, leaf: Obj, name: str) -> bool:
        """Does ``del leaf.name`` take a name away, and nothing else: of an instance of plain classes that were seen?"""
        cls = self.class_of(leaf)
        if cls is None or leaf.atom.module or not self.libraries.harmless_object(leaf):
            return False
        return self.class_member(cls, "__delattr__") is None and self.class_member(cls, name) is None

    def delete_item(self, leaf: Value, key: Value, node: nodes.NodeNG) -> None:
        """``del container[key]``; open where the key is not known."""
        if isinstance(leaf, DictV):
            entries = self.entries(leaf)
            kept = tuple(entry for entry in entries.entries if entry[0] != key)
            self.store.put(leaf.id, replace(entries, entries=kept))
        elif isinstance(leaf, ListV):
            held = self.items(leaf)
            known = held.exact and isinstance(key, Const) and isinstance(key.value, int)
            items = list(held.items)
            if known and isinstance(key, Const) and -len(items) <= key.value < len(items):
                del items[key.value]
            self.store.put(leaf.id, replace(held, items=tuple(items), exact=known))
        elif isinstance(leaf, StateDict):
            self.libraries.state_deleted(leaf, key)
        elif isinstance(leaf, Obj):
            self.libraries.escape(Call(node, [leaf]), "del")


def counter(name: str, files: list[Module]) -> Obj:
    """What is counted up in one of these files."""
    made = unknown(name)
    if all(name in counted_by_constants(file) for file in files if name in counters(file)):
        made.atom.counter = name
    return made
