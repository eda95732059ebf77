"""Migration: what is left of FSDP1, DDP and other versions of torch."""

from . import producers  # noqa: F401 (they register themselves)
