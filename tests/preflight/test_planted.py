"""Faults in a job for many GPUs that a rehearsal finds on a machine without any, and the job without them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from fsdp2_lint.preflight.part import Asked
from tests.preflight.rehearsals import rehearsed
from tests.preflight.training import MESH, REPLICAS, SHARDING, STEP, TRAINING, edited

pytestmark = pytest.mark.torchrun
BLOCKS = """\
        for layer in self.layers:
            x = layer(x)
"""
BUILT = "    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)\n"
SAVE = '    dcp.save({"model": model.state_dict()}, checkpoint_id="checkpoint")\n'
LATER = "    for layer in model.layers:\n        fully_shard(layer, mesh=mesh)\n"
CUT = BUILT + "    sampler"
# What is planted: the code before, the code after, and the clause. Each piece is there once.
FAULTS = {
    "parent-before-child": ([(SHARDING, f"    fully_shard(model, mesh=mesh)\n{LATER}")], "FSDP302"),
    "root-only": ([(SHARDING, "    fully_shard(model, mesh=mesh)\n")], "FSDP301"),
    "root-not-sharded": ([(SHARDING, LATER)], "FSDP303"),
    "optimizer-before-sharding": ([(CUT, "    sampler"), (SHARDING, BUILT + SHARDING)], "FSDP601"),
    "tied-weights": (
        [(SHARDING, f"    model.layers[0].up.weight = model.layers[1].up.weight\n{SHARDING}")],
        "FSDP307",
    ),
    "mixed-dtypes": ([(SHARDING, f"    model.layers[0].up.to(torch.bfloat16)\n{SHARDING}")], "FSDP314"),
    "full-tensor-on-rank-0": (
        [(SAVE, f"    if rank == 0:\n        print(model.head.weight.full_tensor().sum())\n{SAVE}")],
        "FSDP801",
    ),
    "save-on-rank-0": ([(SAVE, f"    if rank == 0:\n    {SAVE}")], "FSDP801"),
    "blocks-in-another-order": (
        [(BLOCKS, BLOCKS.replace("self.layers", "self.layers if dist.get_rank() else reversed(self.layers)"))],
        "FSDP405",
    ),
}
FAULTS["clip-over-two-meshes"] = (
    [(MESH, REPLICAS), ("    fully_shard(model, mesh=mesh)\n", "    fully_shard(model)\n")],
    "FSDP308",
)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name: str, tmp_path: Path) -> None:
    edits, code = FAULTS[name]
    script = edited(tmp_path, edits)
    report = rehearsed(script, tmp_path / "report", size=16, asked=STEP)
    assert [found.code for found in report.findings] == [code], [*report.notes, *report.stopped.values()]
    assert all(crash.code == code for crash in report.crashes)  # where torch raises, it is said why


@pytest.mark.slow
def test_the_job_without_faults_is_silent(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(TRAINING, encoding="utf-8")
    report = rehearsed(script, tmp_path / "report", size=16, asked=STEP)
    assert not report.findings and not report.stopped and report.exit_code == 0, report.notes
    assert not (tmp_path / "checkpoint").exists()


@pytest.mark.slow
def test_at_a_thousand_ranks_some_hold_nothing(tmp_path: Path) -> None:
    """2,304 rows in chunks of 3 are given out before the last 256 of 1,024 ranks."""
    script = tmp_path / "train.py"
    script.write_text(TRAINING.replace("WIDTH, WORDS = 1024", "WIDTH, WORDS = 2304"), encoding="utf-8")
    report = rehearsed(script, tmp_path / "report", size=1024, asked=Asked(depth="plan"))
    assert [found.code for found in report.findings] == ["FSDP313"]


@pytest.mark.slow
def test_chunks_that_are_nearly_even_leave_a_rank_without_and_cost_nothing(tmp_path: Path) -> None:
    """10,944 rows in chunks of 43 are given out before the last of 256 ranks."""
    script = tmp_path / "train.py"
    script.write_text(TRAINING.replace("WIDTH, WORDS = 1024", "WIDTH, WORDS = 10944"), encoding="utf-8")
    assert not rehearsed(script, tmp_path / "report", size=256, asked=Asked(depth="plan")).findings
