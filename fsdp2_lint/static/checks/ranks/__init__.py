"""Ranks: where they part, what each reads, what they agree on."""

from . import producers  # noqa: F401 (they register themselves)
