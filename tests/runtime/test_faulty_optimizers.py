"""Faulty optimizers and steps."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.shapes import OWN, STEPS, TRAINED, each_fault_is_told_once

pytestmark = pytest.mark.torchrun

PROGRAMS = {
    "an optimizer of what lies cut over the node": """\
# ranks: 4
model = Net()
for layer in model.layers:
    fully_shard(layer, reshard_after_forward=2)
fully_shard(model, reshard_after_forward=True)
with torch.no_grad():
    loss_of(model, 0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # expect: FSDP602
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # What a rank makes of its own shards decides whether it steps.
    "a step that one rank may skip": """\
def bad(parameters):
    return any(
        not torch.isfinite(each.grad.to_local()).all()  # expect: FSDP603
        or each.grad.to_local().norm().item() > 1e6  # expect: FSDP603
        for each in parameters
    )


model = shard(Net())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    loss_of(model, step).backward()
    if bad(list(model.parameters())):
        optimizer.zero_grad()
        continue
    optimizer.step()
    optimizer.zero_grad()
""",
    "a norm that is added up in a name": """\
class Trainer:
    def __init__(self):
        self.model = shard(Net())
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    @torch.no_grad()
    def norm(self):
        total = torch.zeros(())
        for each in self.model.parameters():
            total += each.grad.to_local().square().sum()  # expect: FSDP603
        return total.sqrt().item()

    def fit(self):
        for step in range(4):
            loss_of(self.model, step).backward()
            norm = self.norm()
            print("norm", norm)
            if norm < 1e6:
                self.optimizer.step()
            self.optimizer.zero_grad()


Trainer().fit()
""",
    "a flag that is set in a loop": """\
model = shard(Net())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    loss_of(model, step).backward()
    skip = False
    for each in model.parameters():
        largest = each.grad.to_local().abs().amax() if each.grad.to_local().numel() else torch.zeros(())
        local = each.grad.to_local()  # expect: FSDP603
        if torch.isnan(local).any():
            skip = True
            break
    if skip:
        optimizer.zero_grad()
        continue
    optimizer.step()
    optimizer.zero_grad()
""",
    # One of 100,000 numbers is another on rank 1, and all are saved under one key.
    "a table that one rank has changed": TRAINED
    + """\
import torch.distributed.checkpoint as dcp

table = torch.arange(100_000.0)
table[54_321] += dist.get_rank()
dcp.save({"model": model.state_dict(), "table": table}, checkpoint_id="saved")  # expect: FSDP712
dcp.load({"model": model.state_dict(), "table": table}, checkpoint_id="saved")
""",
    "the same in a thread": """\
import threading

import torch.distributed.checkpoint as dcp


def loop():
    model = shard(Net())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(4):
        loss_of(model, step).backward()
        optimizer.step()
        optimizer.zero_grad()
    state = {"model": model.state_dict(), "seen": torch.full((4,), float(dist.get_rank()))}
    dcp.save(state, checkpoint_id="saved")  # expect: FSDP712
    dcp.load(state, checkpoint_id="saved")


thread = threading.Thread(target=loop)
thread.start()
thread.join()
""",
    # A class is judged by what it does with shards.
    "matrices are made orthogonal shard by shard": OWN
    + """\
class Muon(Own):
    def update(self, parameter, gradient, lr):
        parameter.to_local().add_(orthogonal(gradient.to_local()), alpha=-lr)


model = shard(Net())
matrices = [each for each in model.layers.parameters() if each.ndim == 2]
others = [each for each in model.parameters() if all(each is not matrix for matrix in matrices)]
optimizers = [
    Muon(matrices),  # expect: FSDP608
    torch.optim.AdamW(others, lr=1e-3),
]
for step in range(4):
    loss_of(model, step).backward()
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()
""",
    "a trust ratio of each shard": OWN
    + """\
class Lamb(Own):
    def update(self, parameter, gradient, lr):
        local = gradient.to_local()
        state = self.state[parameter]
        average = state.setdefault("average", torch.zeros_like(local))
        average.lerp_(local, 0.1)
        weight = parameter.to_local()
        ratio = torch.linalg.vector_norm(weight) / torch.linalg.vector_norm(average).clamp(min=1e-6)
        weight.data.add_(average * ratio.clamp(max=10.0), alpha=-lr)


model = shard(Net())
optimizer = Lamb(model.parameters())  # expect: FSDP608
"""
    + STEPS,
    "a root mean square of each shard, for all at once": """\
class Scaled(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            weights = [each._local_tensor for each in group["params"]]
            gradients = [each.grad._local_tensor for each in group["params"]]
            scales = torch._foreach_norm(gradients)
            torch._foreach_add_(scales, 1e-6)
            torch._foreach_add_(weights, torch._foreach_div(gradients, scales), alpha=-0.01)


model = shard(Net())
optimizer = Scaled(model.parameters())  # expect: FSDP608
"""
    + STEPS,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_fault_is_told_once(name: str, tmp_path: Path) -> None:
    each_fault_is_told_once(PROGRAMS[name], tmp_path)
