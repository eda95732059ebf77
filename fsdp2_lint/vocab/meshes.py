"""What the names of a mesh's dimensions say. They are values that the program gives, for people and for slices."""

from __future__ import annotations

import re

_SHARDS = frozenset({"shard", "shards", "sharded", "sharding", "fsdp"})
_REPLICAS = frozenset({"replicate", "replicated", "replication", "replica", "replicas", "ddp"})

_STAGES = frozenset({"pp", "pipeline", "stage", "stages"})
_MODEL = _STAGES | {"tp", "tensor", "ep", "expert", "experts"}


def misread(first: str, second: str) -> str:
    """What two dimensions are named for, in words, where that is not (replicate, shard): FSDP2 goes by their order."""
    if says_shards(first) and says_replicas(second):
        return f"{first!r} comes before {second!r}"
    return whole(first, second) if says_shards(first) or says_model(second) and not says_replicas(first) else ""


def whole(first: str, second: str) -> str:
    return f"the mesh of {first!r} and {second!r} is passed as a whole"


def says_shards(name: str) -> bool:
    """``dp_shard``, ``fsdp``: and nothing of replicas."""
    return bool(_words(name) & _SHARDS) and not _words(name) & _REPLICAS


def says_replicas(name: str) -> bool:
    """``dp_replicate``, ``ddp``: and nothing of shards."""
    return bool(_words(name) & _REPLICAS) and not _words(name) & _SHARDS


def says_stages(name: str) -> bool:
    """``pp``: stages of a pipeline, each with a part of the model. Some programs name other things so, such as parts of
    a sequence, for which each rank has all of the model: then there are replicas along it."""
    return bool(_words(name) & _STAGES) and not _words(name) & (_SHARDS | _REPLICAS)


def says_model(name: str) -> bool:
    """``tp``, ``pp``, ``ep``: the ranks along it have parts of the model, or of a layer; and nothing of data."""
    return bool(_words(name) & _MODEL) and not _words(name) & (_SHARDS | _REPLICAS)


def _words(name: str) -> set[str]:
    return set(re.split(r"[^a-z]+", name.lower()))
