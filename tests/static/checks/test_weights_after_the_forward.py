"""What is made of a parameter behind the forward of its group, and what the forward itself makes of it."""

from __future__ import annotations

import pytest

from tests.static.program import NET, analyse, script

SCALED = """
import torch.nn.functional as F

class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return {returned}


def bounded(scale):
    return scale.float().clamp(max=4.6).exp()
"""
MAIN = """
dist.init_process_group("gloo")
model = Scaled()
for layer in model.net.layers:
    fully_shard(layer)
fully_shard(model, reshard_after_forward=True)
optimizer = torch.optim.AdamW(model.parameters())
for tokens in torch.utils.data.DataLoader(torch.load("tokens.pt")):
    {step}
    loss.sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
OUTPUT = "F.normalize(self.net(x), dim=-1)"
OUTSIDE = [
    (OUTPUT, "loss = model(tokens) * model.scale"),
    (OUTPUT, "loss = model(tokens) * bounded(model.scale)"),
    (OUTPUT, "loss = 2 * model.scale.exp() * model(tokens)"),
    (OUTPUT, "loss = model(tokens) * torch.exp(model.scale)"),
    (OUTPUT, "loss = F.softmax(model(tokens), -1) * bounded(model.scale)"),
]
WITHIN = [
    (f"{OUTPUT}, bounded(self.scale)", "y, scale = model(tokens)\n    loss = y * scale"),
    (f"{OUTPUT}, self.scale * 2", "y, scale = model(tokens)\n    loss = y * scale"),
    (f"{{'y': {OUTPUT}, 'scale': self.scale.exp()}}", "found = model(tokens)\n    loss = found['y'] * found['scale']"),
    (f"{OUTPUT} * bounded(self.scale)", "loss = model(tokens)"),
    (OUTPUT, "loss = model(tokens)\n    print(model.scale.exp().item())"),
    (OUTPUT, "loss = model(tokens).sum() * model.scale"),  # a DTensor puts up with one number
    (OUTPUT, "model.unshard()\n    loss = model(tokens)\n    model.unshard()\n    loss = loss * model.scale"),
]


def codes(returned: str, step: str) -> list[str]:
    return analyse(script(MAIN.format(step=step), net=NET + SCALED.format(returned=returned))).codes


@pytest.mark.parametrize(("returned", "step"), OUTSIDE)
def test_a_sharded_parameter_meets_what_the_model_returns(returned: str, step: str) -> None:
    assert codes(returned, step) == ["FSDP404"]


@pytest.mark.parametrize(("returned", "step"), WITHIN)
def test_the_parameter_is_gathered_where_it_is_used(returned: str, step: str) -> None:
    assert "FSDP404" not in codes(returned, step)
