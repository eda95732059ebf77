"""Ranks: where they part, what each reads, what they agree on."""

from . import producers

__all__ = ["producers"]
