"""The rehearsal for programs: its values by name, and what follows from them in closed form."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from ...output.terminal import defused_json
from ..plan import sizes
from ..plan.codec import as_json
from ..plan.shape import Rehearsal, Rehearsed
from .words import limits


def render(rehearsal: Rehearsal) -> str:
    """Sizes are in bytes. ``state`` is that of the rank with the most, with the two states of Adam."""
    values = as_json(replace(rehearsal, limits=tuple(limits(rehearsal))))
    values["sizes"] = [_size(each) for each in rehearsal.sizes]
    return defused_json(json.dumps(values, indent=2)) + "\n"


def _size(size: Rehearsed) -> dict[str, Any]:
    values: dict[str, Any] = as_json(size)
    if size.plan is not None:
        held = sizes.state(size.plan, shard_rank=0)
        values["state"] = {**as_json(held), "total": held.total}
        values["traffic"] = as_json(sizes.traffic(size.plan))
    return values
