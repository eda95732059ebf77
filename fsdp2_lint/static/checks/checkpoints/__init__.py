"""Checkpoints: what is saved, loaded and gathered."""

from . import producers

__all__ = ["producers"]
