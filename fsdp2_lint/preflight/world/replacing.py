"""How functions of torch are replaced, for good: a world is never left."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from ...runtime.adapter.rehearsal import Spot

Replacement = Callable[..., Any]


def instead(spots: Iterable[Spot], make: Callable[[Callable[..., Any]], Replacement]) -> None:
    """Put ``make(original)`` in the place of one function, wherever it goes by its name."""
    made: dict[int, Replacement] = {}
    for owner, name in spots:
        original = getattr(owner, name)
        if id(original) not in made:
            replacement = make(original)
            is_function = isinstance(replacement, FunctionType)
            made[id(original)] = functools.wraps(original)(replacement) if is_function else replacement
        setattr(owner, name, made[id(original)])


def arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """What a call gives, by the names of the parameters; what it leaves out is not there.

    For functions whose parameters can all be given by name.
    """
    bound = inspect.signature(function).bind(*args, **kwargs)
    given = dict(bound.arguments)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            given.update(given.pop(parameter.name, {}))
    return given


def inside_class(owner: type, name: str, make: Callable[[Callable[..., Any]], Replacement]) -> None:
    """The same for what a class has: a method, a static one, or a property."""
    found = vars(owner)[name]
    if isinstance(found, property) and found.fget is not None:
        setattr(owner, name, property(make(found.fget), found.fset, found.fdel, found.__doc__))
    elif isinstance(found, staticmethod):
        setattr(owner, name, staticmethod(functools.wraps(found.__func__)(make(found.__func__))))
    else:
        instead([(owner, name)], make)
