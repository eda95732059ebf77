"""Items of lists and dicts, and slices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from astroid import nodes

from ...budget import BUDGET
from ...domain.choices import choose, perhaps_other
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.store import ALL_KEYS, KNOWN_KEYS, Entries, Items
from ...domain.values import (
    BELOW,
    EACH,
    NONE,
    PICK,
    SLICE,
    SOME,
    Bound,
    ClassV,
    Const,
    DictV,
    Ext,
    Func,
    GuardedUnion,
    ListV,
    Loaded,
    ModRef,
    Obj,
    Partial,
    Rank,
    StateDict,
    Text,
    TupleV,
    Value,
    is_each,
    unknown,
)
from ..call import Call
from ..machine import L
from . import asked_names, enums, flags, own_values, owning
from .keys import by_one_part, in_any_order, spelled_out
from .names import Names


class Containers(Names[L]):
    def eval_Subscript(self, node: nodes.Subscript) -> Value:
        container = self.eval(node.value)
        if isinstance(node.slice, nodes.Slice):
            bounds = self.bounds_of(node.slice)
            self.note_picks(bounds)
            return self.taken_out(
                self.over(container, lambda leaf: self.sliced(leaf, node.slice, bounds)), bounds, node
            )
        key = self.eval(node.slice)
        self.note_picks([key])
        return self.taken_out(self.over(container, lambda leaf: self.get_item(leaf, key, node)), [key], node)

    def taken_out(self, part: Value, indices: list[Value], node: nodes.NodeNG) -> Value:
        """A part of something, by these indices."""
        self.libraries.taken_out(part, indices, node)
        return part

    def eval_Slice(self, node: nodes.Slice) -> Value:
        """One of several indices in a row, as in ``x[:, 1:]``."""
        bounds = self.bounds_of(node)
        self.note_picks(bounds)
        made = unknown("a slice")
        made.atom.per_rank = any(map(owning.of_rank, bounds))
        return made

    def bounds_of(self, node: nodes.Slice) -> list[Value]:
        return [self.eval(part) for part in (node.lower, node.upper, node.step) if part is not None]

    def note_picks(self, indices: list[Value]) -> None:
        """Something is taken out of a whole that may be another part on each rank: in which file, in whose forward."""
        if self.frame.module.path not in self.picks and any(map(self.perhaps_of_rank, indices)):
            self.picks.add(self.frame.module.path)
        if self.libraries.inside and any(self.per_rank(index) is True for index in indices):
            self.picking.update(self.libraries.inside)

    def perhaps_of_rank(self, value: Value) -> bool:
        """Is it made from a rank, or handed in by a caller that was not seen?"""
        if isinstance(value, (Rank, Text)):
            return self.per_rank(value) is True
        if isinstance(value, Obj):
            return value.atom.per_rank or value.atom.kind in ("parameter", "opaque")
        if isinstance(value, GuardedUnion):
            return any(self.perhaps_of_rank(leaf) for _, leaf in value.options)
        return isinstance(value, TupleV) and any(map(self.perhaps_of_rank, value.items))

    def sliced(self, leaf: Value, node: nodes.Slice, given: list[Value]) -> Value:
        """A part of a list or a tuple; open where a bound is not known. ``given``: the bounds that are there."""
        whole = node.lower is None and node.upper is None and node.step is None
        backwards = isinstance(node.step, nodes.UnaryOp) and node.lower is None and node.upper is None
        if isinstance(leaf, ListV) and (whole or backwards):
            held, made = self.items(leaf), self.new_list([])
            self.store.put(made.id, Items(held.items[:: -1 if backwards else 1], held.exact, held.open_why))
            return made
        if whole or backwards:
            return TupleV(leaf.items[::-1]) if backwards and isinstance(leaf, TupleV) else leaf
        if isinstance(leaf, (ListV, TupleV)):
            held = self.listing(leaf)
            bounds = [self.eval(part) if part is not None else NONE for part in (node.lower, node.upper, node.step)]
            if held.exact and all(isinstance(bound, Const) for bound in bounds):
                made = self.new_list([])
                picked = held.items[slice(*[bound.value for bound in bounds if isinstance(bound, Const)])]
                self.store.put(made.id, Items(tuple(picked), True, ""))
                return made
            made = self.new_list([])
            some = tuple((path, self.some_of(item)) for path, item in held.items)
            self.store.put(made.id, Items(some, False, held.open_why))
            owning.cut_by(self, made, bounds)
            return made
        if isinstance(leaf, Obj):
            return owning.picked(self, leaf, self.bounds_of(node), leaf.child(SLICE), self.moment(node))
        if isinstance(leaf, Const) and all(isinstance(bound, Const) for bound in given):
            return leaf
        if isinstance(leaf, (Const, Text)):
            return Text(self.per_rank(self.text([leaf, *given])), of=self.made_of("slice", leaf, *given))
        return owning.part_by(self, unknown("a slice"), given)

    def some_of(self, value: Value) -> Value:
        """One of several objects; no longer each of them."""
        if isinstance(value, TupleV):
            return TupleV(tuple(self.some_of(part) for part in value.items))
        return value.child((PICK, None)) if isinstance(value, Obj) else value

    def get_item(self, leaf: Value, key: Value, node: nodes.NodeNG) -> Value:
        """``leaf[key]``, by what it is."""
        if isinstance(key := spelled_out(key), GuardedUnion):
            return self.over(key, lambda one: self.get_item(leaf, one, node))
        if isinstance(leaf, TupleV) and isinstance(key, Const) and isinstance(key.value, int):
            there = -len(leaf.items) <= key.value < len(leaf.items)
            return leaf.items[key.value] if there else unknown("an item", kind="opaque")
        if isinstance(leaf, (ListV, TupleV)):
            return self.list_item(self.listing(leaf), key)
        if isinstance(leaf, DictV):
            self.fill_in(leaf, key, node)
            return self.dict_item(leaf, key)
        if isinstance(leaf, ModRef):
            return asked_names.global_of(self, leaf, key)
        if isinstance(leaf, Ext) and leaf.qname == "os.environ":
            return self.libraries.environment(key, node)
        if (
            isinstance(leaf, Ext)
            and leaf.qname == "sys.modules"
            and key == self.global_name(self.frame.module, "__name__")
        ):
            return ModRef(self.frame.module)
        if isinstance(leaf, StateDict):
            return self.libraries.state_item(leaf, key)
        if isinstance(leaf, Loaded):
            return leaf
        if isinstance(leaf, Obj):
            indices = key.items if isinstance(key, TupleV) else (key,)
            return owning.picked(self, leaf, indices, self.libraries.item_of(leaf, key, node), self.moment(node))
        if isinstance(leaf, ClassV) and enums.is_enumeration(self, leaf):
            return enums.by_name(self, leaf, key)
        if isinstance(leaf, ClassV) and flags.is_flags(self, leaf):
            return flags.by_name(self, leaf, key)
        if isinstance(leaf, Ext) and not self.libraries.harmless(leaf.qname):
            return unknown(f"an item of {leaf.qname}", kind="opaque")
        if isinstance(leaf, Const) and isinstance(leaf.value, str):
            return Text(self.per_rank(key), of=self.made_of("item", leaf, key))
        return unknown("an item")

    def list_item(self, held: Items, key: Value) -> Value:
        """The element at an index; a choice of all where the index is not known."""
        if (
            isinstance(key, Const)
            and isinstance(key.value, int)
            and held.exact
            and -len(held.items) <= key.value < len(held.items)
        ):
            return choose([held.items[key.value]])
        if not held.items:
            return unknown("an item of a list", kind="opaque")
        if isinstance(key, Const) and (len(held.items) == 1 or key.value == -1):
            path, item = held.items[-1]
            last = key.value == -1 and self.made_in_this_round(item)
            each = [(path, item.child((PICK, key.value)) if isinstance(item, Obj) and not last else item)]
        elif isinstance(key, Obj) and key.item == EACH:
            each = list(held.items)
        else:
            each = [(path, self.some_of(item)) for path, item in held.items]
        if len(each) == 1:
            return owning.one_for_several(self, each[0][1], key)
        number = self.picked_by(held, key)
        owning.arms_of(self, ("alt", number), key)
        return choose(
            [
                ((TRUE.add(("is", ("alt", number), arm)) or TRUE).join(path) or TRUE, item)
                for arm, (path, item) in enumerate(each)
            ]
        )

    def picked_by(self, held: Items, key: Value) -> int:
        """A number for which element an index names: the same in one round of a loop, while the list is the same."""
        counted = isinstance(key, Obj) and key.atom.origin == own_values.RANGE and key.parent is key.atom.root
        if not counted and not isinstance(key, Const):
            return self.fresh()
        where = id(held), key, self.rounds[-1].made if self.rounds else 0
        _, number = self.picks_by_index.setdefault(where, (held, self.fresh()))  # kept: another one has not its id
        return number

    def dict_item(self, leaf: DictV, key: Value, default: Value | None = None) -> Value:
        """The value under a key; a choice of all where the key is not known."""
        if isinstance(key := spelled_out(key), GuardedUnion):
            return self.over(key, lambda one: self.dict_item(leaf, one, default))
        held = self.entries(leaf)
        if isinstance(key, TupleV) and key.items:
            held, key = by_one_part(held, key)
        if isinstance(key, KNOWN_KEYS) and not self.says_any_key(key, held):
            possible = [
                (path, value) for name, path, value in held.entries if name == key and self.guard.compatible(path)
            ]
            if possible:
                if default is not None and all(path is not TRUE for path, _ in possible):
                    for path, _ in list(possible):
                        possible += self.rest(path, default) if len(possible) == 1 else []
                return self.perhaps_replaced(held, key, choose(possible))
            if not held.open_why and all(isinstance(name, KNOWN_KEYS) for name, _, _ in held.entries):
                return default if default is not None else unknown("what stands under a missing key", kind="opaque")
            mapping = held.copied()
            if mapping is not None and isinstance(key, Const) and default in (None, NONE):
                return mapping.child(f"[{key.value!r}]")
        values = [(path, in_any_order(value)) for _, path, value in held.entries]
        if not values:
            return default if default and not held.open_why else unknown("an item of a dict", kind="opaque")
        if isinstance(key, Obj) and key.item == EACH and not held.open_why and not all(map(_is_code, values)):
            return choose(values[:1])  # one stands for all, as the key does; but each function is one of its own
        if (
            len(values) == 1
            and default is None
            and not held.open_why
            and not isinstance(held.entries[0][0], KNOWN_KEYS)
        ):  # which of those that the one value stands for is not known
            return choose([(path, owning.one_for_several(self, self.some_of(value), key)) for path, value in values])
        return self.entry_of_some_key(held, key, default)

    def perhaps_replaced(self, held: Entries, key: Value, value: Value) -> Value:
        """What was put in later, under a key that is not known, may stand in its place."""
        last = max(at for at, (name, _, _) in enumerate(held.entries) if name == key)
        later = [
            each for each in held.entries[last + 1 :] if not isinstance(each[0], KNOWN_KEYS) and each[0] != ALL_KEYS
        ]
        if not later or len(later) > BUDGET.few_options:
            return unknown("an item of a dict", kind="opaque") if later else value
        _, number = self.picks_by_index.setdefault((id(held), key, 0), (held, self.fresh()))
        arms = [(TRUE.add(("is", ("alt", number), arm)) or TRUE, each) for arm, (_, _, each) in enumerate(later)]
        return choose([*arms, (TRUE.add(("is", ("alt", number), len(arms))) or TRUE, value)])

    def says_any_key(self, key: Value, held: Entries) -> bool:
        """Is it an object of a package that is not seen, such as a setting, where all keys are texts and numbers?"""
        outside = isinstance(key, Ext) and not self.libraries.harmless(key.qname)
        return outside and all(isinstance(name, Const) for name, _, _ in held.entries)

    def fill_in(self, leaf: DictV, key: Value, node: nodes.NodeNG) -> None:
        """A key that a ``defaultdict`` does not have gets a value when it is asked for."""
        factory = self.factories.get(leaf.id)
        if factory is not None:
            self.set_missing(leaf, key, lambda: self.call(factory, Call(node, [])), node)

    def perhaps_put(self, make: Callable[[], Value], why: str) -> Value:
        made = make()
        if isinstance(made, (ListV, DictV)):
            self.open_up(made, why)
        return perhaps_other(made, why)

    def set_missing(self, leaf: DictV, key: Value, make: Callable[[], Value], node: nodes.NodeNG) -> None:
        """A key gets a value on the paths on which the dict does not have it yet; unseen code may have."""
        held = self.entries(leaf)
        put_in = isinstance(key, Const) and not all(isinstance(name, KNOWN_KEYS) for name, _, _ in held.entries)
        if why := held.open_why or ("may stand under a key that is not known" if put_in else ""):
            make = partial(self.perhaps_put, make, why)
        missing: PathCondition | None = self.guard
        for name, path, _ in held.entries:
            if name == key and missing is not None:
                missing = missing.add(path.formula, False)
        if missing is None:
            return
        rest = self.relative(missing, self.guard)
        if rest is TRUE:
            self.set_item(leaf, key, make(), node)
            return

        def put() -> Value:
            self.set_item(leaf, key, make(), node)
            return NONE

        there = TRUE.add(rest.formula, False)
        self.branch([(rest, put), *([(there, lambda: NONE)] if there is not None else [])])

    def leave_open(self, held: DictV | ListV, why: str) -> None:
        """More may be in it than is known."""
        if isinstance(held, DictV):
            self.store.put(held.id, Entries(self.entries(held).entries, why))
        else:
            self.store.put(held.id, Items(self.items(held).items, False, why))

    def entry_of_some_key(self, held: Entries, key: Value, default: Value | None) -> Value:
        """What an unknown key may name: each of the first few on a path of its own, the rest as one unknown.

        ``default``: what is there for a key that is not in it; None where that raises.
        """
        number = self.fresh()
        owning.arms_of(self, ("alt", number), key, *(name for name, _, _ in held.entries))
        changing = isinstance(key, Obj) and any(is_each(item) or item in (SOME, BELOW) for item in key.path)
        constant = not changing  # the same key asked again, or compared, names the same entry
        found: list[tuple[PathCondition, Value]] = []
        rest = TRUE
        table = constant and all(isinstance(name, Const) for name, _, _ in held.entries)
        most = BUDGET.options if table else BUDGET.few_options  # of one row, what it says together is kept together
        for arm, (name, path, value) in enumerate(held.entries[:most]):
            formula = ("is", key, name.value) if constant and isinstance(name, Const) else ("is", ("alt", number), arm)
            if isinstance(name, (ClassV, Ext)) and isinstance(key, Obj):
                formula = self.equal(key, name)  # ``table[type(module)]``
            taken = (TRUE.add(formula) or TRUE).join(path)
            if taken is not None:
                found.append((taken, in_any_order(value)))
            rest = rest.add(formula, False) or rest
        if held.open_why or len(held.entries) > most:
            found.append((rest, unknown("an item of a dict", kind="opaque")))
        elif default is not None:
            found.append((rest, default))
        elif table and rest.literals:  # any other key raises
            self.guard = self.checked_path(self.guard, self.guard.add(rest.formula, False))
        return choose(found)


def _is_code(entry: tuple[PathCondition, Value]) -> bool:
    return isinstance(entry[1], (ClassV, Func, Bound, Partial, Ext))
