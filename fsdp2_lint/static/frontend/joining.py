"""Files that belong together although none imports the other: a framework builds a model out of a configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...files.parsing import parsed
from .facts import Facts, facts_of, sharding_methods


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


def facts_in(path: str, text: bytes) -> Facts | None:
    """None of what cannot be parsed: the analysis says so, should it come there."""
    try:
        return facts_of(parsed(text, path))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
