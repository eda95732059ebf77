"""Collectives, in the order in which this rank issues them, to the end of the job.

These hooks may run in any thread, also while another one of them looks at something, and none may
be left out: one that is missing on a single rank would shift all that follow.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ... import adapter
from ...agreement.sequence import Use
from ...agreement.steady import wrappers
from ...ledger import dotted
from ...patches import Patches
from ...session import Session


def install(session: Session) -> None:
    if not session.sequence.is_kept or not session.compares("turn"):
        return
    patches = session.rare if session.options.watch else session.hot
    own = wrappers(session.sequence, patches, session.defect)
    for issuer in adapter.collectives():
        patches.replace(issuer.owner, issuer.name, own.issuing(issuer, getattr(issuer.owner, issuer.name)))
    for hook in ("gather", "reduce"):
        if place := adapter.place(hook):
            patches.replace(*place, own.around(getattr(*place)))
    names = _Names(session)
    for method in ("full_tensor", "redistribute"):
        original = getattr(adapter.DTensor, method)
        patches.replace(adapter.DTensor, method, _used(session, patches, original, names.of))


def _used(session: Session, patches: Patches, original: Any, names: Callable[[Any], Use | None]) -> Any:
    """What is issued in here is for the parameters that the first argument stands for."""
    now, is_traced = session.sequence.now, adapter.is_traced

    @functools.wraps(original)
    def use(*args: Any, **kwargs: Any) -> Any:
        if not patches.live or not args or is_traced():
            return original(*args, **kwargs)
        at = now.at
        if at.use is not None:
            return original(*args, **kwargs)
        try:
            at.use = names(args[0])
        except Exception as error:
            session.defect("collectives", error)
        try:
            return original(*args, **kwargs)
        finally:
            at.use = None

    return use


class _Names:
    """The names of shards, by where they lie in memory: state dicts hold other tensors over the same memory."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._known: tuple[int, int] | None = None
        self._params: dict[tuple[int, int], tuple[weakref.ref[Any], str]] = {}
        self._uses: dict[str, Use] = {}

    def of(self, tensor: Any) -> Use | None:
        ledger = self.session.ledger
        if self._known != (ledger.changes, self.session.step):
            self._known = (ledger.changes, self.session.step)
            self._params = dict(self._named())
        place = adapter.place_in_memory(tensor)
        known, name = self._params.get(place, (None, "")) if place is not None else (None, "")
        raw = known() if known is not None else None
        if raw is None:
            return None
        param = adapter.Param(raw)
        if adapter.place_in_memory(param.sharded) != place or tensor.shape != param.sharded.shape:
            return None
        # A rank whose part is empty does not know which parameter it is: then it cannot be compared.
        return self._uses.get(name) or self._uses.setdefault(name, Use((name,), told=adapter.is_everywhere(tensor)))

    def _named(self) -> Iterator[tuple[tuple[int, int], tuple[weakref.ref[Any], str]]]:
        """FSDP2 names its parameters in the first forward; until then they go by where their modules lie."""
        shardings = self.session.ledger.shardings
        paths: dict[int, str] = {}
        for sharding in reversed(shardings):  # the root is the last
            for module in sharding.live_modules():
                for path, part in module.named_modules() if id(module) not in paths else ():
                    paths.setdefault(id(part), path)
        for sharding in shardings:
            for param in sharding.params():
                name = param.below_root or dotted(paths.get(id(param.module), ""), param.name)
                if (place := adapter.place_in_memory(param.sharded)) is not None:
                    yield place, (weakref.ref(param.raw), name)
