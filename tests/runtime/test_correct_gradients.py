"""Correct ways with gradients that are added up, and with what is gathered."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.shapes import nothing_is_reported

pytestmark = pytest.mark.torchrun

PROGRAMS = {
    # The shards of a group change before the backward of the next one begins.
    "an optimizer that steps inside the backward": """\
model = shard(Net())
optimizers = {each: torch.optim.SGD([each], lr=0.1) for each in model.parameters()}


def step_of(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(step_of)
for step in range(4):
    loss_of(model, step).backward()
""",
    # No gradient depends on the value of a bias; plain PyTorch lets it pass as well.
    "a bias that is written before the backward": """\
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss = loss_of(model, step)
    with torch.no_grad():
        model.layers[0].up.bias.clamp_(-1, 1)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # No zero_grad() comes between the micro-batches of a window.
    "windows that go over the end of an epoch": """\
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
count = 0
for epoch in range(4):
    for step in range(3):
        count += 1
        model.set_requires_gradient_sync(count % 2 == 0)
        loss_of(model, step).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        if count % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
""",
    # While the parameters are gathered zero_grad() finds the sums, if they are not kept in another dtype.
    "gradients that are cleared while the parameters are gathered": """\
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    model.set_requires_gradient_sync(step % 2 == 1)
    loss_of(model, step).backward()
    if step == 2:
        for module in (*model.layers, model):
            module.unshard()
        model.zero_grad()
        for module in (*model.layers, model):
            module.reshard()
    elif step % 2 == 1:
        optimizer.step()
        optimizer.zero_grad()
""",
    # Between micro-batches the parameters may stay gathered, and of one replica there is nothing to reduce.
    "gathered between micro-batches": """\
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model.set_requires_all_reduce(False)
for step in range(8):
    last = step % 2 == 1
    model.set_reshard_after_backward(last)
    model.set_is_last_backward(last)
    loss_of(model, step).backward()
    if last:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        optimizer.zero_grad()
        for module in (*model.layers, model):
            module.unshard()
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_reported(name: str, tmp_path: Path) -> None:
    nothing_is_reported(PROGRAMS[name], tmp_path)
