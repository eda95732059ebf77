"""Code that was not followed, and what it got hold of."""

from __future__ import annotations

from dataclasses import dataclass

from ..values import Obj
from .base import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Escaped(Event):
    """Objects that matter are handed to code that was not followed; the step's subject is the first of them."""

    objects: tuple[Obj, ...]
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Managed(Event):
    """A framework takes charge: of ``objects``, or of the step's subject."""

    who: str
    objects: tuple[Obj, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen(Event):
    """Code that was not followed runs on some ranks only: it may do what the others do elsewhere."""

    who: str
