"""Initialisation: weights that are missing, drawn, loaded or moved before training."""

from . import producers  # noqa: F401 (they register themselves)
