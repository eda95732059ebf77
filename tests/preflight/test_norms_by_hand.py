"""A clip that the job makes itself of its shards: a rehearsal tells which dimension of the mesh its norm forgets."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.preflight.rehearsals import rehearsed
from tests.preflight.training import MESH, REPLICAS, SHARDING, STEP, edited

pytestmark = pytest.mark.torchrun
CLIP = "            nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
REDUCED = '            dist.all_reduce(total, group=mesh.get_group("GROUP"))\n'
OF_SUMS = f"""\
            total = torch.stack([p.grad.to_local().pow(2).sum() for p in model.parameters()]).sum()
{REDUCED}\
            factor = (1.0 / (total.sqrt() + 1e-6)).clamp(max=1.0)
            for p in model.parameters():
                p.grad.to_local().mul_(factor)
"""
OF_TORCH = f"""\
            total = sum(p.grad.norm().to_local() ** 2 for p in model.parameters())
{REDUCED}\
            nn.utils.clip_grads_with_norm_(model.parameters(), 1.0, total.sqrt())
"""
AT_ONCE = f"""\
            grads = [p.grad._local_tensor for p in model.parameters()]
            total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads))) ** 2
{REDUCED}\
            torch._foreach_mul_(grads, (1.0 / (total.sqrt() + 1e-6)).clamp(max=1.0))
"""
FUNCTIONAL = OF_SUMS.replace(
    REDUCED, '            total = funcol.all_reduce(total, "sum", mesh.get_group("GROUP")).clone()\n'
)
DATA = "from torch.utils.data"
IMPORTS = f"""\
from torch.distributed import _functional_collectives as funcol
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
{DATA}"""
FOUR = REPLICAS.replace('(2, 8), mesh_dim_names=("replicate", "shard")', '(8, 2), mesh_dim_names=("dp", "tp")')
PLAN = """\
    for layer in model.layers:
        parallelize_module(layer, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
"""


def with_replicas(clip: str, group: str) -> list[tuple[str, str]]:
    return [(MESH, REPLICAS), (DATA, IMPORTS), (CLIP, clip.replace("GROUP", group))]


def with_tensor_parallelism(clip: str) -> list[tuple[str, str]]:
    of_data = SHARDING.replace("mesh=mesh", 'mesh=mesh["dp"]')
    return [(MESH, FOUR), (DATA, IMPORTS), (SHARDING, PLAN + of_data), (CLIP, clip)]


NORMS = {"of sums": OF_SUMS, "of torch": OF_TORCH, "at once": AT_ONCE, "functional": FUNCTIONAL}
FORGETS = {
    **{f"{name}, over replicas alone": (with_replicas(clip, "replicate"), "shard") for name, clip in NORMS.items()},
    "without tensor parallelism": (with_tensor_parallelism(OF_SUMS.replace("GROUP", "dp")), "tp"),
    "without data parallelism": (with_tensor_parallelism(AT_ONCE.replace("GROUP", "tp")), "dp"),
}
RIGHT = {
    **{f"{name}, over the shards": with_replicas(clip, "shard") for name, clip in NORMS.items()},
    "over both": with_tensor_parallelism(
        OF_SUMS.replace(REDUCED, REDUCED.replace("GROUP", "dp") + REDUCED.replace("GROUP", "tp"))
    ),
    "over all": with_tensor_parallelism(OF_SUMS.replace(', group=mesh.get_group("GROUP")', "")),
    "by elements": with_tensor_parallelism(
        "            for p in model.parameters():\n"
        "                part = p.grad.to_local()\n"
        "                part.mul_(part.abs().clamp(min=1.0).reciprocal())\n"
    ),
}


@pytest.mark.parametrize("name", FORGETS)
def test_a_norm_that_forgets_ranks(name: str, tmp_path: Path) -> None:
    edits, forgotten = FORGETS[name]
    report = rehearsed(edited(tmp_path, edits), tmp_path / "report", size=16, asked=STEP)
    assert [found.code for found in report.findings] == ["FSDP603"], [*report.notes, *report.stopped.values()]
    (finding,) = report.findings
    assert any(f" ranks of {forgotten}, which" in label.message for label in finding.related)


@pytest.mark.parametrize("name", RIGHT)
def test_a_norm_that_forgets_nobody(name: str, tmp_path: Path) -> None:
    report = rehearsed(edited(tmp_path, RIGHT[name]), tmp_path / "report", size=16, asked=STEP)
    assert not report.findings and not report.stopped and report.exit_code == 0, report.notes
