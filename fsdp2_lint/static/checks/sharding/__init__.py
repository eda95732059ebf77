"""Sharding: the calls of fully_shard, their keywords, the plan that they make."""

from . import producers  # noqa: F401 (they register themselves)
