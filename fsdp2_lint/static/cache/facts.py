"""What files say by names alone, by what they hold: the plan of programs is made of that, and needs no syntax tree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...files.digests import digest
from ..frontend.facts import Facts
from ..frontend.project import Project
from .codec import dumps, kept
from .stamp import stamp
from .store import Store

_last: dict[str, tuple[bytes, dict[str, Facts]]] = {}  # what an editor's server need not make of the same bytes again


@contextmanager
def remembered_facts(store: Store | None, project: Project) -> Iterator[None]:
    """Inside, the project knows what was kept of its files; afterwards what it came to know is kept."""
    if store is None:
        yield
        return
    key = digest(b"facts", stamp().encode(), str(project.root).encode("utf-8", "surrogateescape"))
    known = project.known_facts = _known(key, store.get(key))
    before = {*known}
    yield
    if project.facts_asked != before:
        now = {name: facts for name, facts in known.items() if name in project.facts_asked}
        data = dumps(now)
        store.put(key, data)
        _remember(key, data, now)


def _known(key: str, data: bytes | None) -> dict[str, Facts]:
    if data is None:
        return {}
    if key not in _last or _last[key][0] != data:
        _remember(key, data, kept(dict[str, Facts], data) or {})
    return dict(_last[key][1])


def _remember(key: str, data: bytes, facts: dict[str, Facts]) -> None:
    """Of one project: whoever works on several works on one at a time."""
    _last.clear()
    _last[key] = data, facts
