"""Launch and device: the process, its GPU, its collectives."""

from . import producers  # noqa: F401 (they register themselves)
