"""Files that belong together although none imports the other, read off their texts."""

from __future__ import annotations

from collections.abc import Mapping

from ...files.parsing import parsed
from .facts import Facts, facts_of, sharding_methods


def joins(asking: Mapping[str, bytes], holding: Mapping[str, bytes]) -> list[tuple[str, str]]:
    """Which of some files call a method that shards, and which of the others has it."""
    owners: dict[str, str] = {}
    for path, text in holding.items():
        if (facts := _facts(path, text)) is not None:
            owners.update(dict.fromkeys(sharding_methods(facts), path))
    found: list[tuple[str, str]] = []
    for path, text in asking.items():
        facts = _facts(path, text) if any(name.encode() in text for name in owners) else None
        for name in sorted(owners) if facts is not None else ():
            if owners[name] != path and facts is not None and facts.asks_for(name):
                found.append((path, owners[name]))
    return found


def _facts(path: str, text: bytes) -> Facts | None:
    """None of what cannot be parsed here: the analysis says so, should it come there."""
    try:
        return facts_of(parsed(text, path))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
