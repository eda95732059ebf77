"""``DTensor.from_local``, where the job itself calls it: how large is the shard of each rank?"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from ....vocab.facts import Fact
from ....vocab.finding import Site
from ... import adapter
from ...session import Session
from ...sites import called_by_torch, here

MAX_CALLS = 64  # of one place


def install(session: Session) -> None:
    if session.compares("local-shard"):
        watch = _Watch(session)
        session.watch((adapter.DTensor, "from_local"), rare=True, before=watch.wrapped)


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.calls: Counter[Site] = Counter()

    def wrapped(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if called_by_torch(sys._getframe()):
            return
        given = dict(zip(("local_tensor", "device_mesh", "placements"), args)) | kwargs
        mesh, placements = given.get("device_mesh"), list(given.get("placements") or ())
        if (
            given.get("shape") is not None
            or mesh is None
            or mesh.ndim != 1
            or not any(each.is_shard() for each in placements)
        ):
            return
        when = here()
        self.calls[when.at] += 1
        if self.calls[when.at] > MAX_CALLS:
            return
        shape, dimension = list(given["local_tensor"].shape), placements[0].dim
        rows = shape.pop(dimension)
        values = {"rows": str(rows), "other dimensions": str(shape)}
        key = f"{when.at}, call {self.calls[when.at]}"
        traits = {"dimension": str(dimension)}
        self.session.state(Fact("local-shard", key, when, adapter.ranks_of(mesh), values, traits=traits))
