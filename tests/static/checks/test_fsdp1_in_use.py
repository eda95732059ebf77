"""FSDP907: what a call of FSDP1 becomes, and programs that have FSDP2 as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.lint import lint
from fsdp2_lint.vocab.finding import Finding

NAMED = "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, ShardingStrategy\n"


def found(folder: Path, files: dict[str, str], select: str = "FSDP907") -> list[Finding]:
    (folder / "pyproject.toml").touch()
    for name, text in files.items():
        (folder / name).write_text(text)
    return lint([str(folder)], Asked(select=[select])).findings


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("FSDP(model)", "reshard_after_forward=True on the blocks; leave it out for the root"),
        ("FSDP(model, sharding_strategy=ShardingStrategy.SHARD_GRAD_OP)", "reshard_after_forward=False"),
        ("FSDP(model, None, ShardingStrategy._HYBRID_SHARD_ZERO2)", "a 2-D mesh (replicate, shard), and reshard_after"),
        ("FSDP(model, sharding_strategy=ShardingStrategy.NO_SHARD)", "use DistributedDataParallel"),
        ("FSDP(model, sharding_strategy=chosen)", "in FSDP2 this is fully_shard on each block and on the model"),
        ("FSDP(model, **settings)", "fully_shard with"),
    ],
)
def test_strategies(tmp_path: Path, call: str, words: str) -> None:
    (finding,) = found(tmp_path, {"train.py": f"{NAMED}model = {call}\n"})
    assert words in finding.message


def test_arguments_are_places(tmp_path: Path) -> None:
    call = "FSDP(model, cpu_offload=CPUOffload(True), device_id=0, surprising=1)"
    (finding,) = found(tmp_path, {"train.py": f"{NAMED}model = {call}\n"})
    assert [label.message for label in finding.related] == [
        "cpu_offload becomes offload_policy=CPUOffloadPolicy()",
        "device_id becomes torch.cuda.set_device(local_rank) before the mesh is made",
    ]


WRAP = f"{NAMED}def wrap(model):\n    return FSDP(model)\n"
SHARD = "from torch.distributed.fsdp import fully_shard\ndef shard(model):\n    return fully_shard(model)\n"


def test_a_program_that_has_both(tmp_path: Path) -> None:
    both = {"old.py": WRAP, "new.py": SHARD, "train.py": "from old import wrap\nfrom new import shard\n"}
    assert found(tmp_path, both) == []


def test_two_programs_of_one_project(tmp_path: Path) -> None:
    apart = {"old.py": WRAP, "new.py": SHARD, "a.py": "from old import wrap\n", "b.py": "from new import shard\n"}
    (finding,) = found(tmp_path, apart)
    assert Path(finding.primary.site.path).name == "old.py"


def test_it_is_advice(tmp_path: Path) -> None:
    assert found(tmp_path, {"train.py": WRAP}, select="FSDP") == []
    assert len(found(tmp_path, {"train.py": WRAP}, select="ALL")) == 1
