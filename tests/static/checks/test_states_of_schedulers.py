"""FSDP712 of a scheduler's state: it is the same on all ranks where all that it is given is."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

IMPORTS = """
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.checkpoint.stateful import Stateful
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau, StepLR
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from elsewhere import chosen


class State(Stateful):
    def __init__(self, model, optimizer, scheduler):
        self.model, self.optimizer, self.scheduler, self.epoch = model, optimizer, scheduler, 0

    def state_dict(self):
        model, optim = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optim": optim, "scheduler": self.scheduler.state_dict(), "place": PLACE}

    def load_state_dict(self, state):
        self.scheduler.load_state_dict(state["scheduler"])
"""
TRAIN = """
dist.init_process_group("gloo")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
scheduler = MADE
data = TensorDataset(torch.randn(64, 8))
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
state = State(model, optimizer, scheduler)
for epoch in range(3):
    for (x,) in loader:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    scheduler.step(STEP)
    state.epoch = epoch
    dcp.save({"train": state}, checkpoint_id="last")
"""
CASES = {
    "steps": ("StepLR(optimizer, step_size=3)", "", "self.epoch", "upheld"),
    "by the rank": ("StepLR(optimizer, step_size=3 + dist.get_rank())", "", "self.epoch", "unknown"),
    "by its own loss": ("ReduceLROnPlateau(optimizer)", "loss.item()", "self.epoch", "unknown"),
    "a number beside it": ("StepLR(optimizer, step_size=3)", "", "torch.tensor(3)", "upheld"),
    "whether it is the first": ("StepLR(optimizer, step_size=3)", "", "torch.tensor(dist.get_rank() == 0)", "unknown"),
    "by the rank, in words": (
        "StepLR(optimizer, step_size=3)",
        "",
        "torch.tensor(1 if dist.get_rank() == 0 else 2)",
        "unknown",
    ),
    "by unseen code": ("StepLR(optimizer, step_size=3)", "", "torch.tensor(1 if chosen() else 2)", "unknown"),
    "by a file": ("StepLR(optimizer, step_size=3)", "", "torch.tensor(1 if os.path.exists('a') else 2)", "unknown"),
    "a rank beside it": ("StepLR(optimizer, step_size=3)", "", "dist.get_rank() * 10", "violated"),
}


@pytest.mark.parametrize("name", CASES)
def test_under_one_key(name: str) -> None:
    made, step, place, verdict = CASES[name]
    train = TRAIN.replace("MADE", made).replace("STEP", step)
    assert analyse(script(train, IMPORTS.replace("PLACE", place))).verdicts("FSDP712") == {verdict}
