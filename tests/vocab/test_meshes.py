"""What two dimensions of a mesh are named for."""

from __future__ import annotations

import pytest

from fsdp2_lint.vocab.meshes import misread


@pytest.mark.parametrize(
    "names",
    [
        ("shard", "replicate"),
        ("dp_shard", "cp"),
        ("fsdp", "tp"),
        ("dp", "tp"),
        ("data", "tensor"),
        ("dp", "ep"),
        ("dp_shard_mod_ep", "dp_shard_in_ep"),
    ],
)
def test_not_replicas_and_shards(names: tuple[str, str]) -> None:
    assert repr(names[0]) in misread(*names)


@pytest.mark.parametrize(
    "names",
    [
        ("replicate", "shard"),
        ("dp_replicate", "dp_shard_cp"),
        ("ddp", "fsdp"),
        ("dp_replicate", "cp"),
        ("replica", "tp"),
        ("dp", "cp"),
        ("pp", "dp"),
        ("ep", "dp_shard"),
        ("dp", "fsdp"),
        ("inter_node", "intra_node"),
        ("dp_replicate", "dp_shard_in_ep"),
        ("a", "b"),
    ],
)
def test_as_it_may_be_meant(names: tuple[str, str]) -> None:
    assert misread(*names) == ""
