"""Initialisation: weights that are missing, drawn, loaded or moved before training."""

from . import producers

__all__ = ["producers"]
