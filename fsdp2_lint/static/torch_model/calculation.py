"""Functions of plain numbers, calculated where all that they are given is written in the source."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..budget import BUDGET
from ..guards import TOP
from ..values import Choice, Const, ListV, Obj, TupleV, Value, unknown
from .tables import external

if TYPE_CHECKING:
    from ..interp.call import Call
    from ..interp.interpreter import Interpreter

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "builtins.max": max,
    "builtins.min": min,
    "builtins.sum": sum,
    "builtins.round": round,
    "builtins.divmod": divmod,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.gcd": math.gcd,
    "math.isqrt": math.isqrt,
    "math.log": math.log,
    "math.log2": math.log2,
    "math.prod": math.prod,
    "math.sqrt": math.sqrt,
    "numpy.ceil": math.ceil,
    "numpy.floor": math.floor,
    "numpy.prod": math.prod,
    "numpy.sqrt": math.sqrt,
}


def is_number(obj: Obj) -> bool:
    """Does a calculation that was not followed make it, so that it is no module?"""
    return bool(obj.atom.facts.get("number")) or obj.item == "len()" or is_multiple(obj.item)


def is_multiple(item: object) -> bool:
    """Is this the part of a path that an operator with a constant adds?"""
    return isinstance(item, tuple) and item[0] == "op"


def from_outside(machine: Interpreter, value: Value) -> bool:
    """May a number be chosen outside of the source, by a setting or a caller that was not seen, and be anything?"""
    if isinstance(value, Obj):
        facts = value.atom.facts
        if "from outside" in facts:
            return bool(facts["from outside"])
        inside = is_number(value) or value.atom.origin == "range"
        return from_outside(machine, value.parent) if inside and value.parent is not None else not inside
    if isinstance(value, (Choice, TupleV, ListV)):
        leaves = machine.alternatives(value) if isinstance(value, Choice) else machine.listing(value).items
        return any(from_outside(machine, leaf) for _, leaf in leaves)
    return not isinstance(value, Const)


def number_made_of(machine: Interpreter, origin: str, *parts: Value) -> Obj:
    """A number that is not calculated here, and whether it hangs on anything outside of the source."""
    return some_number(origin, outside=any(from_outside(machine, part) for part in parts))


def some_number(origin: str, *, outside: bool = False) -> Obj:
    made = unknown(origin)
    made.atom.facts.update({"number": True, "from outside": outside})
    return made


@external(
    "builtins.divmod",
    "builtins.pow",
    "builtins.round",
    "math.gcd",
    "math.isqrt",
    "math.log2",
    "math.prod",
    "numpy.ceil",
    "numpy.floor",
    "numpy.prod",
    "numpy.sqrt",
)
def calculate(machine: Interpreter, call: Call) -> Value:
    known = calculated(machine, call)
    if known is not None:
        return known
    made = machine.call_other(machine.called_name, call)
    if isinstance(made, Obj):
        made.atom.facts["from outside"] = any(from_outside(machine, part) for part in call.all)
    return made


def calculated(machine: Interpreter, call: Call) -> Value | None:
    """The result of a function of numbers; None where a number that it is given is not known."""
    if not call.args or call.kwargs or call.open_why:
        return None
    open_at = next((index for index, value in enumerate(call.args) if isinstance(value, Choice)), None)
    if open_at is not None:
        return _for_each(machine, call, open_at)
    name, given = machine.called_name, [_number(machine, value) for value in call.args]
    if any(value is None for value in given):
        return None
    if name == "builtins.pow" and len(given) == 2:
        return machine.constant("**", *given)
    function = _FUNCTIONS.get(name)
    try:
        return None if function is None else _as_value(function(*given))
    except (ArithmeticError, TypeError, ValueError):
        return some_number("a calculation that fails")


def _for_each(machine: Interpreter, call: Call, index: int) -> Value | None:
    """The results for each value that an argument may have; None where one of them is no number."""
    before, after = call.args[:index], call.args[index + 1 :]

    def one(leaf: Value) -> Value:
        result = calculated(machine, type(call)(machine, call.node, [*before, leaf, *after]))
        return number_made_of(machine, "a calculation", *call.args) if result is None else result

    numbers = all(isinstance(leaf, Const) for _, leaf in machine.alternatives(call.args[index]))
    return machine.over(call.args[index], one) if numbers else None


def _number(machine: Interpreter, value: Value) -> Any:
    """A number, or a tuple of the numbers of a list; None where one of them is not known."""
    if isinstance(value, Const):
        return value.value if isinstance(value.value, (int, float)) else None
    if not isinstance(value, (TupleV, ListV)):
        return None
    held = machine.listing(value)
    whole = held.exact and not held.open_why and len(held.items) <= BUDGET.calculated
    if not whole or any(path is not TOP or not isinstance(item, Const) for path, item in held.items):
        return None
    parts = tuple(_number(machine, item) for _, item in held.items)
    return None if None in parts else parts


def _as_value(result: Any) -> Value:
    return TupleV(tuple(Const(part) for part in result)) if isinstance(result, tuple) else Const(result)
