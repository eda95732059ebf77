"""Methods of lists, dicts, strings and paths."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...budget import BUDGET
from ...domain.path_conditions import TRUE
from ...domain.store import Items
from ...domain.values import (
    BELOW,
    BELOW_ANYHOW,
    NONE,
    AbstractObject,
    Const,
    DictV,
    Ext,
    ListV,
    Obj,
    Params,
    StateDict,
    Text,
    TupleV,
    Value,
    is_each,
    unknown,
)
from ...interpreter.call import Call
from ...interpreter.expressions import orders, owning
from ..computed import Plain
from ..interface import Machine
from ..tables import external
from ..torch.checkpoints import gathering
from ..torch.ranks import own_sources


def in_order(machine: Machine, held: Items, call: Call) -> Items:
    """Sorted by constants, such as the priorities of callbacks; else in an order that is not known."""
    key, reverse = call.kwargs.get("key", NONE), call.kwargs.get("reverse", Const(False))
    if not held.exact or held.open_why or len(held.items) > BUDGET.options or not isinstance(reverse, Const):
        return reordered(machine, held)
    items = [item for _, item in held.items]
    keys = items if key == NONE else [machine.call(key, Call(call.node, [item])) for item in items]
    ranks = [_sorted_by(each) for each in keys]
    try:
        order = sorted(range(len(items)), key=lambda at: ranks[at], reverse=bool(reverse.value))
    except TypeError:  # not all of them are constants, and of one type
        return reordered(machine, held)
    return replace(held, items=tuple(held.items[at] for at in order))


def _sorted_by(key: Value) -> Any:
    """The constant that it is, or a tuple of such; what nothing can be compared with for any other value."""
    if isinstance(key, TupleV):
        return tuple(map(_sorted_by, key.items))
    return key.value if isinstance(key, Const) else key


def reordered(machine: Machine, held: Items) -> Items:
    """Sorted by who knows what: which module comes first is not known any more."""

    def one(item: Value) -> Value:
        if gathering.is_each_key(item):
            return item  # it stands for each, in whatever order
        if isinstance(item, Obj):
            return (
                item.parent.child(BELOW_ANYHOW)
                if item.item == BELOW and item.parent is not None
                else machine.some_of(item)
            )
        return TupleV(tuple(one(part) for part in item.items)) if isinstance(item, TupleV) else item

    return Items(tuple((path, one(item)) for path, item in held.items), False, held.open_why)


@external("accelerate.utils.get_module_children_bottom_up", "accelerate.utils.other.get_module_children_bottom_up")
def bottom_up(machine: Machine, call: Call) -> Value:
    return machine.over(
        call.args[0] if call.args else NONE,
        lambda leaf: machine.new_list([leaf.child(BELOW_ANYHOW)] if isinstance(leaf, Obj) else [], exact=False),
    )


@external("builtins.dict", "collections.OrderedDict", "collections.defaultdict", "types.SimpleNamespace")
def make_dict(machine: Machine, call: Call) -> Value:
    """``dict(...)`` of pairs, of another dict, and of keywords."""
    if call.name.endswith("SimpleNamespace"):
        namespace = AbstractObject("external", cls=Ext("types.SimpleNamespace"), origin="SimpleNamespace").root
        for name, value in call.kwargs.items():
            machine.store.put((namespace, name), machine.begun(f".{name}", value))
        return namespace
    made = machine.new_dict()
    args = call.args
    if call.name.endswith("defaultdict") and args:
        factory, *args = args
        if factory != NONE:
            machine.factories[made.id] = factory
    for value in args:
        for _, leaf in machine.alternatives(value):
            if isinstance(leaf, (ListV, TupleV, Params)):
                for _, pair in machine.listing(leaf).items:
                    if isinstance(pair, TupleV) and len(pair.items) == 2:
                        machine.set_item(made, pair.items[0], pair.items[1], call.node)
            elif isinstance(leaf, StateDict):
                return leaf
            else:
                machine.update_dict(made, leaf)
    for name, value in call.kwargs.items():
        machine.set_item(made, Const(name), value, call.node)
    return made


@external("types.MappingProxyType")
def read_only(machine: Machine, call: Call) -> Value:
    """A view of the dict itself: what is written to that shows, and nothing is written to the view."""
    return call.arg(0, "mapping") or unknown("a mapping")


def _stands_for_many(machine: Machine, value: Value) -> bool:
    """Is it each element of a list? Then a loop over them adds more than one."""
    if not isinstance(value, Obj):
        return False
    adopted = machine.parents.get(value)
    return is_each(adopted[1] if adopted is not None else value.item)


_LOOKS = frozenset(
    """count index copy difference intersection union symmetric_difference isdisjoint issubset issuperset
    get items keys values move_to_end __len__ __contains__ __iter__""".split()
)  # what leaves a list, set or dict as it is


def list_method(machine: Machine, leaf: ListV | TupleV, name: str, call: Call) -> Value:
    """Methods of lists and tuples; one that is not known leaves the list open."""
    if isinstance(leaf, ListV):
        held = machine.items(leaf)
        if name in ("append", "add", "appendleft") and call.args:
            machine.made_often(call.args[0])
            exact = held.exact and not _stands_for_many(machine, call.args[0]) and not machine.filled_in_rounds(leaf)
            machine.store.put(leaf.id, Items((*held.items, (TRUE, call.args[0])), exact, held.open_why))
            return NONE
        if name == "insert" and len(call.args) > 1:
            machine.store.put(leaf.id, Items((*held.items, (TRUE, call.args[1])), False, held.open_why))
            return NONE
        if name in ("extend", "update") and call.args:
            machine.extend(leaf, call.args[0])
            return NONE
        if name == "remove" and call.args:
            kept = [item for item in held.items if item != (TRUE, call.args[0])]
            sure = isinstance(call.args[0], Const) and len(kept) < len(held.items)
            machine.store.put(leaf.id, Items(tuple(kept), held.exact and sure, held.open_why))
            return NONE
        if name == "clear":
            machine.store.put(leaf.id, Items())
            return NONE
        if name == "copy":
            return orders.made_of(machine, machine.listed(held), leaf)
        if name == "pop":
            return popped(machine, leaf, call.args[0] if call.args else Const(-1))
        if name == "sort":
            machine.store.put(leaf.id, in_order(machine, held, call))
            return NONE
        if name == "reverse":
            machine.store.put(leaf.id, replace(held, items=tuple(reversed(held.items))))
            return NONE
        if name == "popleft":
            return popped(machine, leaf, Const(0))
        if name not in _LOOKS:
            machine.open_up(leaf, f"{name}() may change")
        if name in orders.NEW_SETS:
            made = unknown(f"{name}()")
            orders.combined(machine, name, leaf, call.args[0] if call.args else NONE, made)
            return made
    return _made_of(machine, leaf, name, call)


def _made_of(machine: Machine, leaf: Value, name: str, call: Call) -> Value:
    made = unknown(f"{name}()")
    owning.passed_on(machine, made, [leaf, *call.all])
    return made


def popped(machine: Machine, leaf: ListV, at: Value) -> Value:
    """What is taken out of a list; where it is not known which, the rest may be any of them."""
    held = machine.items(leaf)
    found, items = machine.list_item(held, at), list(held.items)
    if held.exact and isinstance(at, Const) and isinstance(at.value, int) and -len(items) <= at.value < len(items):
        del items[at.value]
        machine.store.put(leaf.id, replace(held, items=tuple(items)))
    else:
        machine.store.put(leaf.id, replace(held, exact=False))
    return found


def dict_method(machine: Machine, leaf: DictV, name: str, call: Call) -> Value:
    """Methods of dicts; one that is not known leaves it open."""
    held = machine.entries(leaf)
    if name == "items":
        rows = ((path, TupleV((key, value))) for key, path, value in held.entries)
        return orders.view(machine, machine.listed(Items(tuple(rows), False, held.open_why)), leaf)
    if name == "values":
        items = Items(tuple((path, value) for _, path, value in held.entries), False, held.open_why)
        return orders.view(machine, machine.listed(items), leaf)
    if name == "keys":
        items = Items(tuple((path, key) for key, path, _ in held.entries), False, held.open_why)
        return orders.view(machine, machine.listed(items), leaf)
    if name in ("get", "pop") and call.args:
        default = call.args[1] if len(call.args) > 1 else NONE
        found = machine.dict_item(leaf, call.args[0], default)
        if name == "pop":
            machine.store.put(
                leaf.id, type(held)(tuple(entry for entry in held.entries if entry[0] != call.args[0]), held.open_why)
            )
        return found
    if name == "setdefault" and len(call.args) > 1:
        machine.set_missing(leaf, call.args[0], lambda: call.args[1], call.node)
        return machine.dict_item(leaf, call.args[0])
    if name == "update":
        for value in call.args:
            for _, other in machine.alternatives(value):
                machine.update_dict(leaf, other if isinstance(other, DictV) else make_dict_of(machine, other, call))
        for key, value in call.kwargs.items():
            machine.set_item(leaf, Const(key), value, call.node)
        return NONE
    if name == "copy":
        made = machine.new_dict()
        machine.store.put(made.id, held, local=True)
        return made
    if name == "clear":
        machine.store.put(leaf.id, type(held)())
    elif name not in _LOOKS:
        machine.open_up(leaf, f"{name}() may change")
    return _made_of(machine, leaf, name, call)


def make_dict_of(machine: Machine, other: Value, call: Call) -> Value:
    made = machine.new_dict()
    for _, pair in machine.listing(other).items if isinstance(other, (ListV, TupleV)) else ():
        if isinstance(pair, TupleV) and len(pair.items) == 2:
            machine.set_item(made, pair.items[0], pair.items[1], call.node)
    return made if isinstance(other, (ListV, TupleV)) else other


_TEXT_METHODS = frozenset(
    """lower upper casefold title capitalize strip lstrip rstrip startswith endswith replace removeprefix removesuffix
    split rsplit splitlines partition rpartition isdigit isnumeric isdecimal isalpha isalnum isidentifier isupper
    islower count find rfind index rindex zfill ljust rjust""".split()
)
_SPLITS = frozenset({"split", "rsplit", "splitlines", "partition", "rpartition"})
_PATH_METHODS = frozenset("with_suffix with_name with_stem joinpath resolve absolute expanduser as_posix".split())


def text_method(machine: Machine, leaf: Value, name: str, call: Call) -> Value:
    """Methods of strings and other plain values."""
    if (
        isinstance(leaf, Const)
        and isinstance(leaf.value, str)
        and all(isinstance(arg, Const) for arg in call.args)
        and not call.kwargs
    ):
        if name in _TEXT_METHODS:
            try:
                made = getattr(leaf.value, name)(*[arg.value for arg in call.args if isinstance(arg, Const)])
            except (TypeError, ValueError):
                return unknown(name)
            if isinstance(made, tuple):
                return TupleV(tuple(map(Const, made)))
            return machine.new_list([Const(part) for part in made]) if isinstance(made, list) else Const(made)
    if name in _SPLITS and name != "splitlines" and isinstance(leaf, Text) and "{}" in leaf.hint:
        return text_parts(machine, leaf, name, call)
    if name == "format":
        return machine.text([leaf, *call.all])
    if name == "join" and call.args:
        return machine.text([leaf, *call.args])
    asks = isinstance(leaf, Text) and name in _TEXT_METHODS - _SPLITS
    if asks or name in ("lower", "upper", "strip", "replace"):  # what is asked of a text speaks of that text
        return Text(machine.per_rank(leaf), of=machine.made_of(name, leaf, *call.args))
    if name in _PATH_METHODS and isinstance(leaf, (Const, Text)):  # another path, made of what this one is made of
        return Text(machine.per_rank(machine.text([leaf, *call.all])), of=machine.made_of(name, leaf, *call.all))
    made = unknown(f"{name}()")
    if name in own_sources.ASKED_OF_PATHS:
        own_sources.asked_file(machine, made, leaf)
    else:
        owning.passed_on(machine, made, [leaf, *call.all])
    if isinstance(leaf, (Const, Text)):
        made.atom.know(Plain())
    return made


def text_parts(machine: Machine, leaf: Text, name: str, call: Call) -> Value:
    """``f"layers.{i}".split(".")``: what is written is known, what is put in is some text without the separator."""
    mark = call.args[0].value if len(call.args) == 1 and isinstance(call.args[0], Const) else None
    if not isinstance(mark, str) or not mark or leaf.hint.count(mark) == 0:
        return unknown(f"{name}()")
    parts = [
        Text(leaf.per_rank, part, of=machine.made_of("part", leaf, Const(number))) if "{}" in part else Const(part)
        for number, part in enumerate(getattr(leaf.hint, name)(mark))
    ]
    return TupleV(tuple(parts)) if name in ("partition", "rpartition") else machine.new_list(parts)


@external(
    "os.path.join",
    "pathlib.Path",
    "os.path.abspath",
    "os.path.expanduser",
    "pathlib.PurePath",
    "os.fspath",
    "builtins.format",
    "os.path.realpath",
    "builtins.open",
)
def join_path(machine: Machine, call: Call) -> Value:
    return machine.text(call.args) if call.args else Text(False)
