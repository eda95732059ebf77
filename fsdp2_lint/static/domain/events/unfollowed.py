"""Code that was not followed, and what it got hold of."""

from __future__ import annotations

from ..values import Obj
from .base import Event


class Escaped(Event):
    """Objects that matter are handed to code that was not followed; the step's subject is the first of them."""

    objects: tuple[Obj, ...]
    who: str


class Managed(Event):
    """A framework takes charge: of ``objects``, or of the step's subject."""

    who: str
    objects: tuple[Obj, ...] = ()


class Unseen(Event):
    """Code that was not followed runs on some ranks only: it may do what the others do elsewhere."""

    who: str
