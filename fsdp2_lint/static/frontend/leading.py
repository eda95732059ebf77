"""From which names a project's code may come to another one, read off names alone."""

from __future__ import annotations

from collections.abc import Iterable

from .facts import Facts, Function

ANY = "*"
_BUILDING = frozenset({"__init__", "__new__", "__post_init__"})


def leading_to(project: Iterable[Facts], name: str) -> list[str]:
    """``name``, and all functions and classes whose code says it or one of these. ``ANY``: a special method does.

    That overestimates: who says a name may mean another one.
    """
    found, pending = {name}, [each for facts in project for each in facts.functions]
    while True:
        leading, further = list[Function](), list[Function]()
        for each in pending:
            (leading if each.mentions.all() & found else further).append(each)
        if not leading:
            return sorted(found)
        found.update(map(_called, leading))
        pending = further


def _called(function: Function) -> str:
    """By which name somebody comes to it."""
    if function.name in _BUILDING:
        return function.owner
    return ANY if function.name.startswith("__") else function.name
