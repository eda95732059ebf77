"""Launch and device: the process, its GPU, its collectives."""

from . import producers

__all__ = ["producers"]
