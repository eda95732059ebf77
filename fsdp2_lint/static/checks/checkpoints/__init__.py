"""Checkpoints: what is saved, loaded and gathered."""

from . import producers  # noqa: F401 (they register themselves)
