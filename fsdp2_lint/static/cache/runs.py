"""Whole runs: an answer stands as long as nothing has changed that it was made of.

It was made of the request, of the contents of the project's files and of others that imports led to, of what each
import means, of the torch that files are pinned to, and of the tool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, replace
from pathlib import Path

from ...files.digests import UNREAD, digest
from ...files.reading import read
from ..frontend.lookup import Lookup
from ..frontend.pins import PINS
from ..result import Request, Result
from .codec import dumps, kept
from .stamp import stamp
from .store import Store


def remembered(store: Store, request: Request, work: Callable[[], Result]) -> Result:
    """What was said before of the same request; else what ``work`` says now, which is kept unless it may differ."""
    key = _key(request)
    known = kept(Result, store.get(key))
    if known is not None and _stands(known, request):
        return known
    result = work()
    if result.repeatable and not result.broken:
        store.put(key, dumps(replace(result, texts={})))
    store.prune()
    return result


def _stands(result: Result, request: Request) -> bool:
    """Would all that was asked beyond the project's files be answered the same now?"""
    rests = result.rests
    lookup = Lookup(request.root, request.overlay, request.source_roots)
    lookup.files = sorted(set(request.files)) if request.within is None else request.within.files
    return (
        rests.contents == contents(rests.contents, request.overlay)
        and all(lookup.means(*asked) == found for asked, found in rests.imports.items())
        and all(repr(PINS[kind](path, Path(request.root))) == found for (kind, path), found in rests.pins.items())
    )


def contents(paths: Iterable[str], overlay: Mapping[str, bytes]) -> dict[str, str]:
    """A digest of each file; a word for those that cannot be read."""
    return {path: _content(path, overlay) for path in paths}


def _content(path: str, overlay: Mapping[str, bytes]) -> str:
    try:
        return digest(overlay[path] if path in overlay else read(path))
    except (OSError, ValueError):
        return UNREAD


def _key(request: Request) -> str:
    within = request.within
    known = [*(within.files if within is not None else ()), *sorted(request.files), *sorted(request.overlay)]
    asked = (
        stamp(),
        request.root,
        sorted(set(request.files)),
        sorted(request.explicit),
        [(rule.code, rule.severity.value, rule.target) for rule in request.rules],
        request.target,
        list(request.source_roots),
        list(request.entry_points),
        astuple(request.budget),
        within and (within.files, sorted(within.programs)),
        contents(known, request.overlay),
    )
    return digest(repr(asked).encode("utf-8", "surrogateescape"))
