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


@contextmanager
def remembered_facts(store: Store | None, project: Project) -> Iterator[None]:
    """Inside, the project knows what was kept of its files; afterwards what it came to know is kept."""
    if store is None:
        yield
        return
    key = digest(b"facts", stamp().encode(), str(project.root).encode("utf-8", "surrogateescape"))
    known = project.known_facts = kept(dict[str, Facts], store.get(key)) or {}
    before = {*known}
    yield
    if project.facts_asked != before:
        store.put(key, dumps({name: facts for name, facts in known.items() if name in project.facts_asked}))
