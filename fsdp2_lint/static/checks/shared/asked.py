"""What a condition is about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...domain.values import Obj


def objects_in(part: Any) -> Iterator[Obj]:
    """The objects in a formula or a value, all options of a choice included."""
    if isinstance(part, Obj):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from objects_in(each)
    elif options := getattr(part, "options", None):
        for _, each in options:
            yield from objects_in(each)
