"""While a CUDA graph is captured nobody copies a number from the device: that would end the capture, and the job."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.jobs import run_program
from tests.runtime.shapes import HEAD

pytestmark = pytest.mark.torchrun

# There is no GPU here. What asks for the capture is told that there is one, and what copies values counts.
PROGRAM = """\
from fsdp2_lint.runtime import adapter, replicas
from fsdp2_lint.runtime.agreement import digests

copied = {True: 0, False: 0}
captured = False
adapter.is_captured = lambda: captured


def counted(original):
    def counts(*given):
        copied[captured] += 1
        return original(*given)

    return counts


for module, name in ((digests, "_sum"), (digests, "_bytes_of_some"), (replicas, "_outline")):
    setattr(module, name, counted(getattr(module, name)))
mesh = dist.init_device_mesh("cpu", (2, 1), mesh_dim_names=("replicate", "shard"))
model = Net()
model.register_buffer("scales", torch.ones(4))
for layer in model.layers:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh, ignored_params={model.head.bias})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    loss = loss_of(model, step)
    captured = step > 0
    loss.backward()
    dist.all_reduce(model.head.bias.grad)
    optimizer.step()
    captured = False
    optimizer.zero_grad()
assert copied[False] > 0, "else nothing was shown"
print("copied", copied[True])
"""


def test_nothing_is_copied_meanwhile(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(HEAD + PROGRAM + "dist.barrier()\ndist.destroy_process_group()\n")
    job = run_program(script, tmp_path / "report")
    assert job.output().splitlines()[-1] == "copied 0", job.output()
    assert job.findings == [] and job.report.notes == [], job.findings
