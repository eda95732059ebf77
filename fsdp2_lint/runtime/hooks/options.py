"""The keywords of each call of ``fully_shard``."""

from __future__ import annotations

import sys
import weakref
from typing import Any

from ...vocab.events.policies import OptionsGiven
from .. import adapter
from ..handles.options import RuntimeOptions
from ..ledger import label_of
from ..session import Session
from ..sites import here


def install(session: Session) -> None:
    told: weakref.WeakSet[Any] = weakref.WeakSet()  # meshes: what is wrong with one is said once

    def shard(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        modules = args[1] if len(args) > 1 else kwargs["modules"]
        mesh = adapter.call_of_fully_shard(sys._getframe()).get("mesh")
        if mesh is None or mesh in told:
            return
        told.add(mesh)
        when = here()
        session.hear(OptionsGiven(when=when, options=RuntimeOptions(when, label_of(*modules), mesh)))

    if place := adapter.place("sharding"):
        session.hot.watch(place, before=session.quietly(shard))
