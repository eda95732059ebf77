"""Correct saves, in threads and by one rank."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.shapes import TRAINED, nothing_is_reported

pytestmark = pytest.mark.torchrun

PROGRAMS = {
    # Whoever waits for a save need not be the main thread.
    "a save that a helper thread waits for": """\
from concurrent.futures import ThreadPoolExecutor

import torch.distributed.checkpoint as dcp

model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
group, pool, upload = dist.new_group(backend="gloo"), ThreadPoolExecutor(1), None
for step in range(5):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
    if step in (1, 3):
        if upload is not None:
            upload.result()
        future = dcp.async_save(model.state_dict(), checkpoint_id=f"saved-{step}", process_group=group)
        upload = pool.submit(future.result) if step == 1 else pool.submit(lambda: future.result())
upload.result()
pool.shutdown()
""",
    "a loop in a thread that saves": """\
import threading

import torch.distributed.checkpoint as dcp


def loop():
    model = shard(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    group, future = dist.new_group(backend="gloo"), None
    for step in range(5):
        loss_of(model, step).backward()
        optimizer.step()
        optimizer.zero_grad()
        if step in (1, 3):
            if future is not None:
                future.result()
            future = dcp.async_save(model.state_dict(), checkpoint_id=f"saved-{step}", process_group=group)
    future.result()


thread = threading.Thread(target=loop)
thread.start()
thread.join()
""",
    # Some names fit: what is new stays as it was.
    "loads of a part": TRAINED
    + """\
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import DefaultLoadPlanner

dcp.save({"model": model.state_dict()}, checkpoint_id="saved")
state = {"model": model.state_dict(), "average": {name: value.clone() for name, value in model.state_dict().items()}}
dcp.load(state, checkpoint_id="saved", planner=DefaultLoadPlanner(allow_partial_load=True))
head = {name: value for name, value in state["model"].items() if "head" in name}
model.load_state_dict({**head, "head.scale": torch.ones(1)}, strict=False)
""",
    # Whole tensors, tensors of other things, and DCP's own pieces.
    "saves by one rank": """\
import torch.distributed.checkpoint as dcp

model = shard(Net())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
whole = {name: value.full_tensor() for name, value in model.state_dict().items()}
zeros, tokens = [torch.zeros(16, 32) for _ in range(2)], torch.randint(64, (4, 8))
if dist.get_rank() == 0:
    torch.save({"model": whole, "zeros": zeros, "tokens": tokens, "random": torch.get_rng_state()}, "model.pt")
dcp.save(model.state_dict(), checkpoint_id="saved")
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_reported(name: str, tmp_path: Path) -> None:
    nothing_is_reported(PROGRAMS[name], tmp_path)
