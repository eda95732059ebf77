"""``operator.attrgetter`` and its kin: a function that takes an attribute or an item, as an expression would."""

from __future__ import annotations

from ...domain.values import SOME, Const, Ext, Obj, Partial, TupleV, Value, unknown
from ...interpreter.call import Call
from ..interface import Machine
from ..tables import external
from .reflection import get_attribute

_OF_ATTRIBUTES, _OF_ITEMS = "operator.attrgetter()", "operator.itemgetter()"


@external("operator.attrgetter", "operator.itemgetter")
def getter(machine: Machine, call: Call) -> Value:
    if not call.args or call.open_why:
        return unknown(f"{call.name}()", kind="opaque")
    return Partial(Ext(f"{call.name}()"), tuple(call.args), ())


@external(_OF_ATTRIBUTES, _OF_ITEMS)
def get(machine: Machine, call: Call) -> Value:
    """What it is called with comes last, behind what it was made with."""
    *wanted, value = call.args
    one = _attribute if call.name == _OF_ATTRIBUTES else _item
    found = [one(machine, value, each, call) for each in wanted]
    return found[0] if len(found) == 1 else TupleV(tuple(found))


def _item(machine: Machine, value: Value, key: Value, call: Call) -> Value:
    return machine.over(value, lambda leaf: machine.get_item(leaf, key, call.node))


def _attribute(machine: Machine, value: Value, name: Value, call: Call) -> Value:
    """An attribute, or one of an attribute: ``transformer.layers``. An unknown name may have dots in it."""

    def named(each: Value) -> Value:
        if not isinstance(each, Const) or not isinstance(each.value, str):
            return machine.over(value, lambda leaf: leaf.child(SOME) if isinstance(leaf, Obj) else unknown("a part"))
        found = value
        for part in each.value.split("."):
            found = get_attribute(machine, Call(call.node, [found, Const(part)]))
        return found

    return machine.over(name, named)
