"""Forward: what runs past the hooks, in which order, in which mode."""

from . import producers  # noqa: F401 (they register themselves)
