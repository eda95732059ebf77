"""Functions of plain numbers, calculated where all that they are given is written in the source."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...budget import BUDGET
from ...domain.path_conditions import TRUE
from ...domain.values import Const, GuardedUnion, ListV, Obj, TupleV, Value
from ...interpreter.call import Call
from ...interpreter.expressions.numbers import number_made_of, said_by_all, some_number
from ..interface import Machine
from ..tables import external

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
def calculate(machine: Machine, call: Call) -> Value:
    if (known := calculated(machine, call)) is not None:
        return known
    made = machine.libraries.call_other(call.name, call)
    if isinstance(made, Obj):
        made.atom.said_by = said_by_all(machine, call.all)
    return made


def calculated(machine: Machine, call: Call) -> Value | None:
    """The result of a function of numbers; None where a number that it is given is not known."""
    if not call.args or call.kwargs or call.open_why:
        return None
    open_at = next((index for index, value in enumerate(call.args) if isinstance(value, GuardedUnion)), None)
    if open_at is not None:
        return _for_each(machine, call, open_at)
    name, given = call.name, [_number(machine, value) for value in call.args]
    if any(value is None for value in given):
        return None
    if name == "builtins.pow" and len(given) == 2:
        return machine.constant("**", *given)
    function = _FUNCTIONS.get(name)
    try:
        return None if function is None else _as_value(function(*given))
    except (ArithmeticError, TypeError, ValueError):
        return some_number("a calculation that fails")


def _for_each(machine: Machine, call: Call, index: int) -> Value | None:
    """The results for each value that an argument may have; None where one of them is no number."""
    before, after = call.args[:index], call.args[index + 1 :]

    def one(leaf: Value) -> Value:
        result = calculated(machine, replace(call, args=[*before, leaf, *after]))
        return number_made_of(machine, "a calculation", *call.args) if result is None else result

    numbers = all(isinstance(leaf, Const) for _, leaf in machine.alternatives(call.args[index]))
    return machine.over(call.args[index], one) if numbers else None


def _number(machine: Machine, value: Value) -> Any:
    """A number, or a tuple of the numbers of a list; None where one of them is not known."""
    if isinstance(value, Const):
        return value.value if isinstance(value.value, (int, float)) else None
    if not isinstance(value, (TupleV, ListV)):
        return None
    held = machine.listing(value)
    whole = held.exact and not held.open_why and len(held.items) <= BUDGET.calculated
    if not whole or any(path is not TRUE or not isinstance(item, Const) for path, item in held.items):
        return None
    parts = tuple(_number(machine, item) for _, item in held.items)
    return None if None in parts else parts


def _as_value(result: Any) -> Value:
    return TupleV(tuple(Const(part) for part in result)) if isinstance(result, tuple) else Const(result)
