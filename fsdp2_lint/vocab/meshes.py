"""What the names of a mesh's dimensions say. They are values that the program gives, for people and for slices."""

from __future__ import annotations

import re

_SHARDS = frozenset({"shard", "shards", "sharded", "sharding", "fsdp"})
_REPLICAS = frozenset({"replicate", "replicated", "replication", "replica", "replicas", "ddp"})


def says_shards(name: str) -> bool:
    """``dp_shard``, ``fsdp``: and nothing of replicas."""
    return bool(_words(name) & _SHARDS) and not _words(name) & _REPLICAS


def says_replicas(name: str) -> bool:
    """``dp_replicate``, ``ddp``: and nothing of shards."""
    return bool(_words(name) & _REPLICAS) and not _words(name) & _SHARDS


def _words(name: str) -> set[str]:
    return set(re.split(r"[^a-z]+", name.lower()))
