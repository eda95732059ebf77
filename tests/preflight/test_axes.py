"""Ranks that differ in their place in a mesh: along each axis one is played that is not at its beginning."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from fsdp2_lint.preflight.part import Asked
from fsdp2_lint.preflight.rehearsal import MOST_RANKS, chosen_ranks, with_axes
from tests.preflight.rehearsals import rehearsed

pytestmark = pytest.mark.torchrun
TRAINING = (Path(__file__).parent / "programs" / "training.py").read_text(encoding="utf-8")
MESH = 'init_device_mesh("cuda", (dist.get_world_size(),))'
BLOCKS = "        for layer in self.layers:\n"
SAVE = '    dcp.save({"model": model.state_dict()}, checkpoint_id="checkpoint")\n'
BACKWARDS = "        for layer in reversed(self.layers) if dist.get_rank() // 4 == 1 else self.layers:\n"
GATHERS = '    if mesh.get_local_rank("shard") != 0:\n        print(model.head.weight.full_tensor().sum())\n'
# The mesh, what is planted (the text before, the text after), the clause and the line of the fault.
FAULTS = {
    "the second of two replicas": ((2, 4), BLOCKS, BACKWARDS, "FSDP405", "            x = layer(x)"),
    "the second of four replicas": ((4, 4), BLOCKS, BACKWARDS, "FSDP405", "            x = layer(x)"),
    "all but the first shard": ((2, 4), SAVE, GATHERS + SAVE, "FSDP801", GATHERS.splitlines()[1]),
}


@pytest.mark.slow  # each plays a job of several meshes once per axis
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_ranks_at_one_place_of_an_axis_is_found(name: str, tmp_path: Path) -> None:
    sizes, old, new, code, line = FAULTS[name]
    text = TRAINING.replace(MESH, f'init_device_mesh("cuda", {sizes}, mesh_dim_names=("replicate", "shard"))')
    assert text != TRAINING and text.count(old) == 1
    text = text.replace(old, new)
    script = tmp_path / "train.py"
    script.write_text(text, encoding="utf-8")
    report = rehearsed(script, tmp_path / "report", size=sizes[0] * sizes[1], asked=Asked(depth="step", steps=2))
    assert {1, 4} <= set(report.ranks), report.notes
    found = [(each.code, each.primary.site.row) for each in report.findings]
    assert found == [(code, 1 + text.splitlines().index(line))], [*report.notes, *report.stopped.values()]


def test_few_ranks_are_played_whatever_the_meshes_are() -> None:
    ranks = chosen_ranks(4096, 8)
    assert with_axes(ranks, [8, 1]) == ranks  # they are there
    assert with_axes(ranks, [512, 64, 8, 1]) == tuple(sorted({*ranks, 512, 64}))
    assert with_axes(ranks, [512]) == with_axes(ranks, [512, 512])
    assert len(with_axes(ranks, range(100))) == MOST_RANKS
