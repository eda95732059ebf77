"""Migration: what is left of FSDP1, DDP and other versions of torch."""

from . import producers

__all__ = ["producers"]
