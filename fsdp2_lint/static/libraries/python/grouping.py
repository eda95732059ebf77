"""``itertools.groupby``: neighbours that belong together, such as the parameters of each group of an optimizer."""

from __future__ import annotations

from dataclasses import replace

from ...domain.values import Params, TupleV, Value, unknown
from ...interpreter.call import Call
from ..interface import Machine
from ..tables import external
from ..torch.training import generators


@external("itertools.groupby")
def group_by(machine: Machine, call: Call) -> Value:
    """Any number of rows: a key, and some of the elements. The key function is run for each element that is known."""
    given = call.arg(0, "iterable") or unknown("groupby()")
    held, key = machine.iterated(given, call.node), call.arg(1, "key")
    keys = [machine.call(key, Call(call.node, [item])) for _, item in held.items] if key is not None else []
    generators.consumed(machine, given, call.node, "groupby()", whole=False)
    if isinstance(given, Params):
        group: Value = replace(given, part=True)
    else:
        group = machine.listed(replace(held, exact=False), lazy=True)
    row = TupleV((keys[0] if len(keys) == 1 else unknown("a key"), group))
    return machine.new_list([row], exact=False, open_why=held.open_why)
