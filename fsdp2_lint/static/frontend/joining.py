"""Files that belong together although none imports the other: a framework builds a model out of a configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from ...files.parsing import parsed
from .facts import Facts, facts_of, sharding_methods

if TYPE_CHECKING:
    from .project import Project


def joins(
    files: Iterable[str], seeds: Iterable[str], text: Callable[[str], bytes], facts: Callable[[str], Facts | None]
) -> list[tuple[str, str]]:
    """Which of some files call a method that shards, and which of the ``seeds`` has it."""
    owners: dict[str, list[str]] = {}
    for seed in seeds:
        known = facts(seed)
        for name in sorted(sharding_methods(known)) if known is not None else ():
            owners.setdefault(name, []).append(seed)
    found: dict[tuple[str, str], None] = {}
    for path in files if owners else ():
        data = text(path)
        named = [name for name in owners if name.encode() in data]
        known = facts(path) if named else None
        called = [name for name in named if known is not None and known.asks_for(name)]
        found.update(dict.fromkeys((path, seed) for name in called for seed in owners[name] if seed != path))
    return [*found]


def registered(project: Project, files: Iterable[str], seeds: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Which of some files use a registry of the project that one of the ``seeds`` registers a class or function with.

    Such a file imports the registry alone: what the registry builds for it stands elsewhere.
    """
    users: dict[tuple[str, str], list[str]] = {}  # the file and the name of a registry: who registers with it
    for seed in seeds:
        known = project.facts(seed)
        for name in sorted(_decorators(known)) if known is not None else ():
            if (home := _home(project, seed, name)) is not None:
                users.setdefault((home, name), []).append(seed)
    names = {name for _, name in users}
    for path in files if users else ():
        data = project.data(path)
        for name in sorted(name for name in names if name.encode() in data):
            if (home := _home(project, path, name)) is not None:
                yield from ((path, seed) for seed in users.get((home, name), ()))


def _decorators(facts: Facts) -> frozenset[str]:
    of_classes = (each.decorators for each in facts.classes)
    return frozenset[str]().union(*of_classes, *(each.decorators for each in facts.functions))


def _home(project: Project, path: str, name: str) -> str | None:
    """The file of the project that makes the object which a file imports under this name."""
    facts = project.facts(path)
    for module, level in facts.imports.get(name, ()) if facts is not None else ():
        target = project.resolve(path, module, level)
        made = project.facts(target) if target is not None else None
        if made is not None and name in made.objects:
            return target
    return None


def facts_in(path: str, text: bytes) -> Facts | None:
    """None of what cannot be parsed: the analysis says so, should it come there."""
    try:
        return facts_of(parsed(text, path))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
