"""Names of other versions of torch, and of FSDP1."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported(Event):  # a name of torch is imported by another path than the public one; S
    path: str
    public: str
    gated: bool
