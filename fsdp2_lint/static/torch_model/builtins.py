"""Built-in functions and the methods of lists, dicts and strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..guards import TOP, both, either
from ..store import Items
from ..values import (
    BELOW, EACH, NONE, SOME, Atom, Bound, Choice, ClassV, Cond, Const, DictV, Ext, Func, ListV, Loaded, Obj, Params, ParamV,
    Partial, Rank, StateDict, StateTensor, Text, TupleV, Value, choose, unknown,
)  # fmt: skip
from .tables import external

if TYPE_CHECKING:
    from ..interp.calls import Call
    from ..interp.interpreter import Interpreter

BOTTOM_UP = BELOW + "^"


@external("builtins.list", "builtins.tuple", "builtins.set", "builtins.sorted", "builtins.frozenset", "builtins.iter", "collections.deque", "torch.utils.data.ChainDataset")  # fmt: skip
def make_list(machine: Interpreter, call: Call) -> Value:
    if not call.args:
        return machine.new_list([])

    ordered = machine.called_name != "builtins.sorted"

    def one(leaf: Value) -> Value:
        held = machine.listing(leaf)
        made = ListV(machine.fresh())
        machine.store.put(made.id, held if ordered else reordered(machine, held), local=True)
        return made

    return machine.over(call.args[0], one)


def reordered(machine: Interpreter, held: Items) -> Items:
    """Sorted by who knows what: which module comes first is not known any more."""

    def one(item: Value) -> Value:
        if isinstance(item, Obj):
            return item.parent.child(BOTTOM_UP) if item.item == BELOW and item.parent is not None else machine.some_of(item)
        return TupleV(tuple(one(part) for part in item.items)) if isinstance(item, TupleV) else item

    return Items(tuple((path, one(item)) for path, item in held.items), False, held.open_why)


@external("builtins.reversed")
def make_reversed(machine: Interpreter, call: Call) -> Value:
    held = machine.listing(call.args[0]) if call.args else Items()

    def turned(item: Value) -> Value:
        if isinstance(item, Obj) and item.item == BELOW and item.parent is not None:
            return item.parent.child(BOTTOM_UP)
        return TupleV(tuple(turned(part) for part in item.items)) if isinstance(item, TupleV) else item

    made = ListV(machine.fresh())
    machine.store.put(made.id, Items(tuple((path, turned(item)) for path, item in reversed(held.items)), held.exact, held.open_why), local=True)
    return made


@external("builtins.dict", "collections.OrderedDict", "collections.defaultdict", "types.SimpleNamespace")
def make_dict(machine: Interpreter, call: Call) -> Value:
    if machine.called_name.endswith("SimpleNamespace"):
        namespace = Atom("external", cls=Ext("types.SimpleNamespace"), origin="SimpleNamespace").root
        for name, value in call.kwargs.items():
            machine.store.put((namespace, name), value)
        return namespace
    made = machine.new_dict()
    args = call.args[1:] if machine.called_name.endswith("defaultdict") else call.args
    for value in args:
        for _, leaf in machine.alternatives(value):
            if isinstance(leaf, (ListV, TupleV)):
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


@external("builtins.range")
def make_range(machine: Interpreter, call: Call) -> Value:
    """``range(n)`` visits each index; with other bounds only some."""
    whole = len(call.args) == 1 or (len(call.args) == 2 and call.args[0] == Const(0))
    index = Atom("unknown", origin="range").root
    return machine.new_list([index.child(EACH if whole else SOME)], exact=False)


@external("builtins.enumerate")
def make_enumerate(machine: Interpreter, call: Call) -> Value:
    held = machine.listing(call.args[0]) if call.args else Items()
    index = Atom("unknown", origin="range").root.child(EACH)
    items = tuple(
        (path, TupleV((Const(position) if held.exact else index, item))) for position, (path, item) in enumerate(held.items)
    )
    made = ListV(machine.fresh())
    machine.store.put(made.id, Items(items, held.exact, held.open_why), local=True)
    return made


@external("builtins.zip")
def make_zip(machine: Interpreter, call: Call) -> Value:
    lists = [machine.listing(value) for value in call.args]
    exact = all(held.exact for held in lists)
    length = min((len(held.items) for held in lists), default=0) if exact else max((len(held.items) for held in lists), default=0)
    rows = []
    for position in range(length):
        picked = [held.items[min(position, len(held.items) - 1)][1] if held.items else unknown("an element") for held in lists]
        rows.append(TupleV(tuple(picked)))
    return machine.new_list(rows, exact=exact, open_why=next((held.open_why for held in lists if held.open_why), ""))


@external("itertools.chain", "itertools.chain.from_iterable")
def chain(machine: Interpreter, call: Call) -> Value:
    made = machine.new_list([])
    parts = call.args
    if machine.called_name.endswith("from_iterable") and call.args:
        parts = [item for _, item in machine.listing(call.args[0]).items]
    for part in parts:
        machine.extend(made, part)
    return made


@external("builtins.map", "builtins.filter")
def apply_each(machine: Interpreter, call: Call) -> Value:
    is_filter = machine.called_name == "builtins.filter"
    if len(call.args) < 2:
        return unknown("map()")
    if is_filter and isinstance(call.args[1], (Params, Choice)):
        return call.args[1]
    held = machine.listing(call.args[1])
    results = []
    for path, item in held.items:
        if is_filter:
            results.append((path, item))
        else:
            results.append((path, machine.call(call.args[0], type(call)(machine, call.node, [item]))))
    made = ListV(machine.fresh(), lazy=True)
    machine.store.put(made.id, Items(tuple(results), held.exact, held.open_why), local=True)
    return made


@external("builtins.next", "builtins.sum", "builtins.max", "builtins.min")
def pick(machine: Interpreter, call: Call) -> Value:
    if machine.called_name == "builtins.next" and call.args:
        held = machine.listing(call.args[0])
        if len(held.items) == 1:
            item = held.items[0][1]
            return machine.some_of(item)
    if machine.called_name == "builtins.sum" and len(call.args) == 2:
        return machine.over(call.args[0], lambda leaf: flatten(machine, leaf))
    return unknown(machine.called_name)


def flatten(machine: Interpreter, leaf: Value) -> Value:
    made = machine.new_list([])
    for _, item in machine.listing(leaf).items:
        machine.extend(made, item)
    return made


@external("builtins.len")
def length(machine: Interpreter, call: Call) -> Value:
    if call.args and isinstance(call.args[0], (TupleV, ListV)):
        held = machine.listing(call.args[0])
        if held.exact and not held.open_why and all(path is TOP for path, _ in held.items):
            return Const(len(held.items))
    value = call.args[0] if call.args else NONE
    return value.child("len()") if isinstance(value, Obj) else unknown("len()")


@external("builtins.any", "builtins.all")
def any_all(machine: Interpreter, call: Call) -> Value:
    if call.args and isinstance(call.args[0], (TupleV, ListV)):
        held = machine.listing(call.args[0])
        if not held.open_why and len(held.items) <= 8:
            parts = [machine.truth(item) for _, item in held.items]
            return machine.cond(either(parts) if machine.called_name.endswith("any") else both(parts))
    return unknown(machine.called_name)


@external("builtins.getattr")
def get_attribute(machine: Interpreter, call: Call) -> Value:
    if len(call.args) < 2:
        return unknown("getattr()")
    default = call.args[2] if len(call.args) > 2 else None
    name = call.args[1]

    def one(leaf: Value) -> Value:
        if not (isinstance(name, Const) and isinstance(name.value, str)):
            return leaf.child(SOME) if isinstance(leaf, Obj) else unknown("an attribute", kind="opaque")
        if default is not None and isinstance(leaf, Obj) and machine.find_attr(leaf, name.value) is None and machine.surely_lacks(leaf, name.value):
            return default
        return machine.get_attr(leaf, name.value, call.node)

    return machine.over(call.args[0], one)


@external("builtins.setattr")
def set_attribute(machine: Interpreter, call: Call) -> Value:
    if len(call.args) == 3:
        name = str(call.args[1].value) if isinstance(call.args[1], Const) else SOME
        for _, leaf in machine.alternatives(call.args[0]):
            if isinstance(leaf, Obj):
                machine.set_attr(leaf, name, call.args[2], call.node)
    return NONE


@external("builtins.hasattr")
def has_attribute(machine: Interpreter, call: Call) -> Value:
    if len(call.args) < 2 or not isinstance(call.args[1], Const):
        return unknown("hasattr()")
    name = call.args[1].value

    def formula(leaf: Value) -> Any:
        if isinstance(leaf, (StateTensor, ParamV)) and name in ("full_tensor", "to_local", "placements"):
            return is_dtensor(leaf)
        if isinstance(leaf, Obj):
            if machine.find_attr(leaf, name) is not None:
                return True
            if name in ("unshard", "reshard", "set_requires_gradient_sync"):
                return machine.is_sharded_formula(leaf)
            return False if machine.surely_lacks(leaf, name) else ("truth", ("hasattr", leaf, name))
        return ("truth", ("hasattr", leaf, name))

    value = call.args[0]
    return machine.cond(machine.spread(value, formula) if isinstance(value, Choice) else formula(value))


def is_dtensor(leaf: Value) -> Any:
    return ("truth", ("dtensor", leaf))


@external("builtins.isinstance", "builtins.issubclass")
def is_instance(machine: Interpreter, call: Call) -> Value:
    if len(call.args) < 2:
        return unknown("isinstance()")
    classes = [leaf for _, leaf in machine.leaves(call.args[1]) if not isinstance(leaf, (TupleV, ListV))]
    value = call.args[0]

    def formula(leaf: Value) -> Any:
        if isinstance(leaf, (StateTensor, ParamV)):
            if any(isinstance(cls, Ext) and cls.qname.endswith(".DTensor") for cls in classes):
                return is_dtensor(leaf)
            return True if any(isinstance(cls, Ext) and cls.qname in ("torch.Tensor", "torch.nn.Parameter") for cls in classes) else ("truth", ("isinst", leaf, tuple(classes)))
        if isinstance(leaf, Obj):
            return machine.isinstance_formula(leaf, classes)
        python = {ListV: "builtins.list", DictV: "builtins.dict", TupleV: "builtins.tuple"}.get(type(leaf))
        if python is not None:
            return Ext(python) in classes if all(isinstance(cls, Ext) and cls.qname.startswith("builtins.") for cls in classes) else ("truth", ("isinst", leaf, tuple(classes)))
        if isinstance(leaf, Const) and all(isinstance(cls, Ext) and cls.qname.startswith("builtins.") for cls in classes):
            names = {cls.qname.rsplit(".", 1)[-1] for cls in classes if isinstance(cls, Ext)}
            return any(base.__name__ in names for base in type(leaf.value).__mro__)
        return ("truth", ("isinst", leaf, tuple(classes)))

    return machine.cond(machine.spread(value, formula) if isinstance(value, Choice) else formula(value))


@external("builtins.callable")
def is_callable(machine: Interpreter, call: Call) -> Value:
    def formula(leaf: Value) -> Any:
        return leaf != NONE if not isinstance(leaf, Obj) else machine.truth(leaf)

    value = call.args[0] if call.args else NONE
    return machine.cond(machine.spread(value, formula) if isinstance(value, Choice) else formula(value))


@external("types.MethodType")
def bind_method(machine: Interpreter, call: Call) -> Value:
    if len(call.args) == 2 and isinstance(call.args[0], Func):
        return Bound(call.args[1], call.args[0])
    return unknown("a method", kind="opaque")


@external("builtins.type")
def type_of(machine: Interpreter, call: Call) -> Value:
    value = call.args[0] if call.args else NONE
    if isinstance(value, Obj):
        cls = machine.class_of(value)
        if cls is not None:
            return cls
        if isinstance(value.atom.cls, Ext) and value.parent is None:
            return value.atom.cls
        return value.child("__class__")
    return unknown("type()")


@external("builtins.__import__", "importlib.import_module")
def import_by_name(machine: Interpreter, call: Call) -> Value:
    name = call.args[0] if call.args else NONE
    if isinstance(name, Const) and isinstance(name.value, str) and not name.value.startswith("."):
        return machine.import_module(machine.frame.module, name.value, machine.called_name.endswith("import_module"))
    machine.opened("a module imported by a computed name", call)
    return unknown("a module", kind="opaque")


@external("functools.partial")
def partial(machine: Interpreter, call: Call) -> Value:
    if not call.args:
        return unknown("partial()")
    return Partial(call.args[0], tuple(call.args[1:]), tuple(call.kwargs.items()))


@external("functools.wraps", "functools.update_wrapper", "builtins.property", "builtins.staticmethod")
def keep_function(machine: Interpreter, call: Call) -> Value:
    if machine.called_name == "functools.wraps":
        return Ext("builtins.staticmethod")
    return call.args[0] if call.args else unknown(machine.called_name)


@external("copy.deepcopy")
def deep_copy(machine: Interpreter, call: Call) -> Value:
    def one(leaf: Value) -> Value:
        if not isinstance(leaf, Obj):
            return leaf
        copy = Atom("unknown", origin="a copy", site=machine.site(call.node))
        copy.facts["copy of"] = leaf
        return copy.root

    return machine.over(call.args[0], one) if call.args else unknown("deepcopy()")


def list_method(machine: Interpreter, leaf: ListV | TupleV, name: str, call: Call) -> Value:
    if isinstance(leaf, ListV):
        held = machine.items(leaf)
        if name in ("append", "add", "appendleft") and call.args:
            machine.store.put(leaf.id, Items((*held.items, (TOP, call.args[0])), held.exact, held.open_why))
            return NONE
        if name == "insert" and len(call.args) > 1:
            machine.store.put(leaf.id, Items((*held.items, (TOP, call.args[1])), False, held.open_why))
            return NONE
        if name in ("extend", "update") and call.args:
            machine.extend(leaf, call.args[0])
            return NONE
        if name in ("clear",):
            machine.store.put(leaf.id, Items())
            return NONE
        if name == "copy":
            made = ListV(machine.fresh())
            machine.store.put(made.id, held, local=True)
            return made
        if name == "pop":
            return machine.list_item(held, call.args[0] if call.args else Const(-1))
        if name == "sort":
            machine.store.put(leaf.id, reordered(machine, held))
            return NONE
        if name == "reverse":
            machine.store.put(leaf.id, Items(tuple(reversed(held.items)), held.exact, held.open_why))
            return NONE
    return unknown(f"{name}()")


def dict_method(machine: Interpreter, leaf: DictV, name: str, call: Call) -> Value:
    held = machine.entries(leaf)
    if name == "items":
        return _rows(machine, tuple((path, TupleV((key, value))) for key, path, value in held.entries), held.open_why)
    if name == "values":
        return _rows(machine, tuple((path, value) for _, path, value in held.entries), held.open_why)
    if name == "keys":
        return _rows(machine, tuple((path, key) for key, path, _ in held.entries), held.open_why)
    if name in ("get", "pop") and call.args:
        default = call.args[1] if len(call.args) > 1 else NONE
        found = machine.dict_item(leaf, call.args[0], default)
        if name == "pop":
            machine.store.put(leaf.id, type(held)(tuple(entry for entry in held.entries if entry[0] != call.args[0]), held.open_why))
        return found
    if name == "setdefault" and len(call.args) > 1:
        if held.get(call.args[0]) is None:
            machine.set_item(leaf, call.args[0], call.args[1], call.node)
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
    return unknown(f"{name}()")


def make_dict_of(machine: Interpreter, other: Value, call: Call) -> Value:
    made = machine.new_dict()
    for _, pair in machine.listing(other).items if isinstance(other, (ListV, TupleV)) else ():
        if isinstance(pair, TupleV) and len(pair.items) == 2:
            machine.set_item(made, pair.items[0], pair.items[1], call.node)
    return made if isinstance(other, (ListV, TupleV)) else other


def _rows(machine: Interpreter, rows: tuple[Any, ...], why: str) -> Value:
    made = ListV(machine.fresh())
    machine.store.put(made.id, Items(rows, False, why), local=True)
    return made


def text_method(machine: Interpreter, leaf: Value, name: str, call: Call) -> Value:
    """Methods of strings and other plain values."""
    if isinstance(leaf, Const) and isinstance(leaf.value, str) and all(isinstance(arg, Const) for arg in call.args) and not call.kwargs:
        if name in ("lower", "upper", "strip", "startswith", "endswith", "replace", "removeprefix", "removesuffix"):
            try:
                return Const(getattr(leaf.value, name)(*[arg.value for arg in call.args if isinstance(arg, Const)]))
            except (TypeError, AttributeError):
                return unknown(name)
    if name == "format":
        return machine.text([leaf, *call.all])
    if name == "join" and call.args:
        return machine.text([leaf, *call.args])
    if name in ("lower", "upper", "strip", "replace"):
        return Text(machine.per_rank(leaf))
    return unknown(f"{name}()")


@external("os.path.join", "pathlib.Path", "os.path.abspath", "os.path.expanduser", "pathlib.PurePath", "os.fspath", "builtins.format", "os.path.realpath", "builtins.open")
def join_path(machine: Interpreter, call: Call) -> Value:
    return machine.text(call.args) if call.args else Text(False)


__all__ = ["ClassV", "Cond", "Func", "Loaded", "Rank", "choose"]
