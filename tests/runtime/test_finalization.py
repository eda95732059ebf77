"""Backwards that the program finishes itself, as torch 2.15 has it: what that puts off, and what is then reported."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from torch.distributed.fsdp import FSDPModule

from tests.runtime.jobs import run_program
from tests.runtime.shapes import HEAD, each_fault_is_told_once, nothing_is_reported

pytestmark = [
    pytest.mark.torchrun,
    pytest.mark.skipif(not hasattr(FSDPModule, "finalize_backward"), reason="torch has this from 2.15 on"),
]

MADE = """\
model = shard(Net())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
"""
MANUAL = MADE + "model.set_manual_backward_finalization(True)\n"
USED = """\
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
"""
UNREDUCED = """\
for step in range(4):
    model.set_requires_gradient_sync(False)
    for micro in range(3):
        loss_of(model, step + micro).backward()
"""
RIGHT = {
    "each backward": MANUAL
    + "for step in range(4):\n    loss_of(model, step).backward()\n    model.finalize_backward()\n"
    + USED,
    "the sum of micro-batches": MANUAL
    + UNREDUCED
    + "    model.set_requires_gradient_sync(True)\n    model.finalize_backward()\n"
    + USED,
    "with a handle": MANUAL
    + "for step in range(4):\n    loss_of(model, step).backward()\n"
    + "    handle = model.finalize_backward(async_op=True)\n    handle.wait()\n"
    + USED,
    "over replicas": """\
# ranks: 4
mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model.set_manual_backward_finalization(True)
for step in range(4):
    loss_of(model, step).backward()
    model.finalize_backward()
"""
    + USED,
    "a step that is given up": MADE
    + UNREDUCED
    + """\
    if step == 1:
        model.reset_iter_state()  # clears what was not reduced
        optimizer.zero_grad()
        continue
    model.set_requires_gradient_sync(True)
    loss_of(model, step + 3).backward()
"""
    + USED,
}
FAULTY = {
    "never finished": MADE
    + """\
held = list(model.parameters())
model.set_manual_backward_finalization(True)  # expect: FSDP604
for step in range(4):
    loss_of(model, step).backward()
    assert [each.grad is None for each in held] == [True, *[False] * 4, True, True]  # of the root and of the layers
    optimizer.step()
    optimizer.zero_grad()
""",
    "switched on, and never finished": MADE
    + "model.set_manual_backward_finalization(True)  # expect: FSDP604\n"
    + UNREDUCED
    + """\
    model.set_requires_gradient_sync(True)
    assert all(each.grad is None for each in model.parameters())
    optimizer.step()
    optimizer.zero_grad()
""",
    "finished while it is off": MANUAL
    + UNREDUCED.replace("(False)", "(False)  # expect: FSDP604")
    + """\
    model.finalize_backward()
    assert all(each.grad is None for each in model.parameters())
    optimizer.step()
    optimizer.zero_grad()
""",
    "nobody waits": MANUAL
    + """\
for step in range(4):
    loss_of(model, step).backward()
    handle = model.finalize_backward(async_op=True)  # expect: FSDP604
    optimizer.step()
    optimizer.zero_grad()
    handle.wait()
""",
    "clipped before": MANUAL
    + UNREDUCED
    + """\
    model.set_requires_gradient_sync(True)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: FSDP614
    model.finalize_backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    "given up before": MANUAL
    + UNREDUCED
    + """\
    if step == 1:
        optimizer.zero_grad()  # expect: FSDP615
        continue
    model.set_requires_gradient_sync(True)
    model.finalize_backward()
    optimizer.step()
    optimizer.zero_grad()
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_finished_in_time(name: str, tmp_path: Path) -> None:
    nothing_is_reported(RIGHT[name], tmp_path)


@pytest.mark.parametrize("name", FAULTY)
def test_each_fault_is_told_once(name: str, tmp_path: Path) -> None:
    each_fault_is_told_once(FAULTY[name], tmp_path)


def test_parameters_that_are_gathered_still_meet_shards(tmp_path: Path) -> None:
    """Torch refuses to clip both at once: the error is explained by the backward that is not finished."""
    script = tmp_path / "train.py"
    script.write_text(
        HEAD + MANUAL + "loss_of(model, 0).backward()\ntorch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
    )
    job = run_program(script, tmp_path / "report")
    ((crash, code),) = {(each.error.partition(" got ")[2], each.code) for each in job.report.crashes}
    assert (crash.partition(",")[0], code) == ("mixed torch.Tensor and DTensor", "FSDP604")
    assert [each.code for each in job.findings] == ["FSDP604"]
