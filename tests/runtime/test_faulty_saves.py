"""Faulty saves."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.shapes import TRAINED, each_fault_is_told_once

pytestmark = pytest.mark.torchrun

PROGRAMS = {
    # A thread that does something else waits for nothing.
    "a thread that does not wait for the save": """\
import threading

import torch.distributed.checkpoint as dcp

model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
group, asked = dist.new_group(backend="gloo"), []
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
    if step in (1, 3):
        future = dcp.async_save(model.state_dict(), checkpoint_id=f"at-{step}", process_group=group)  # expect: FSDP706
        thread = threading.Thread(target=asked.append, args=(step,))
        thread.start()
        thread.join()
        dist.barrier()  # not of the group in which the save may still be at work
future.result()
""",
    "no name is that of the model": TRAINED
    + """\
state = {f"module.{name}": value for name, value in model.state_dict().items()}
model.load_state_dict(state, strict=False)  # expect: FSDP703
""",
    "no name is in the checkpoint": TRAINED
    + """\
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import DefaultLoadPlanner

dcp.save(model.state_dict(), checkpoint_id="saved")
state = {"model": model.state_dict(), "step": 0}
dcp.load(state, checkpoint_id="saved", planner=DefaultLoadPlanner(allow_partial_load=True))  # expect: FSDP703
""",
    # What to_local() gives is no DTensor, and no model either.
    "local parts are saved by one rank": TRAINED
    + """\
parts = {name: value.to_local() for name, value in model.state_dict().items()}
if dist.get_rank() == 0:
    torch.save({"model": parts, "step": step}, "model.pt")  # expect: FSDP701
""",
    "copies of local parts are saved by one rank": TRAINED
    + """\
if dist.get_rank() == 0:
    parts = {name: value.to_local().detach().clone() for name, value in model.named_parameters()}
    torch.save(parts, "model.pt")  # expect: FSDP701
""",
    "local parts are saved as arrays": TRAINED
    + """\
parts = [value.to_local().detach().numpy() for value in model.parameters()]
if dist.get_rank() == 0:
    torch.save(parts, "model.pt")  # expect: FSDP701
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_fault_is_told_once(name: str, tmp_path: Path) -> None:
    each_fault_is_told_once(PROGRAMS[name], tmp_path)
