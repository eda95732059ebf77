"""Forward: what runs past the hooks, in which order, in which mode."""

from . import producers

__all__ = ["producers"]
