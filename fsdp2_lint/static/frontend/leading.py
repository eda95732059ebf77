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
    functions = [each for facts in project for each in facts.functions]
    found, pending = {name}, functions
    while True:
        further = [each for each in pending if not each.mentions.all() & found]
        if len(further) == len(pending):
            return sorted(found)
        leading = [each for each in pending if each.mentions.all() & found]
        found.update(_called(each) for each in leading)
        pending = further


def _called(function: Function) -> str:
    """By which name somebody comes to it."""
    if function.name in _BUILDING:
        return function.owner
    return ANY if function.name.startswith("__") else function.name
