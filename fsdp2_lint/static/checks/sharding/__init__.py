"""Sharding: the calls of fully_shard, their keywords, the plan that they make."""

from . import producers

__all__ = ["producers"]
