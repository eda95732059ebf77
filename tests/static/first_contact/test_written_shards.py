"""FSDP204: who writes a parameter, or the shard of one, or calculates, has not computed a buffer."""

from __future__ import annotations

import pytest

from tests.static.program import HEAD, Analysis, analyse

PROGRAM = """
import math
from somewhere import made_elsewhere

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.width = 8
        self.inner = nn.Linear(8, 8)
        self.register_buffer("table", torch.empty(8), persistent=False)

    def positions(self):
        steps = torch.arange(8) / self.width * math.pi
        return torch.cat([steps[:4].sin(), (steps[4:] * 2).cos()])

    @torch.no_grad()
    def reset(self):
        nn.init.zeros_(self.inner.weight)
        nn.init.zeros_(self.inner.bias)

    @torch.no_grad()
    def tables(self):
        self.table.copy_(self.positions())

    def forward(self, x):
        scaled = (x * self.table - x).square()
        return self.inner(scaled)

def average(shadow, model):
    {average}

def make():
    with torch.device("meta"):
        model = Net()
    fully_shard(model.inner)
    fully_shard(model)
    model.to_empty(device="cpu")
    model.reset()
    {fill}
    return model

def main():
    dist.init_process_group("gloo")
    model, shadow = make(), make()
    average(shadow, model)
    loss = (model(torch.randn(2, 8)) - 1).square().mean()
    loss.backward()
    {later}
    shadow(torch.randn(2, 8))

if __name__ == "__main__":
    main()
"""
AVERAGES = {
    "shard by shard": """for a, b in zip(shadow.parameters(), model.parameters(), strict=True):
        a.to_local().copy_(b.to_local())""",
    "lists of shards": """torch._foreach_lerp_(
        [each.to_local() for each in shadow.parameters()], [each.to_local() for each in model.parameters()], 0.1)""",
    "by name": """own = dict(model.named_parameters())
    for name, each in shadow.named_parameters():
        each.to_local().mul_(0.9).add_(own[name].to_local(), alpha=0.1)""",
    "the parameters": """for a, b in zip(shadow.parameters(), model.parameters()):
        a.data.lerp_(b.data, 0.1)""",
    "not at all": "pass",
}


def said(average: str = "pass", fill: str = "pass", later: str = "pass") -> Analysis:
    return analyse(HEAD + PROGRAM.format(average=average, fill=fill, later=later))


@pytest.mark.parametrize("average", AVERAGES.values(), ids=AVERAGES.keys())
def test_a_buffer_is_in_no_parameter(average: str) -> None:
    assert said(average).codes == ["FSDP204"]
    right = said(average, "model.tables()")
    assert right.codes == []
    assert right.verdicts("FSDP204") == right.verdicts("FSDP201") == {"upheld"}


FILLED = {
    "all buffers": "for each in model.buffers(): each.zero_()",
    "this buffer": "model.table.fill_(1.0)",
    "another tensor in its place": 'model.register_buffer("table", model.positions(), persistent=False)',
}


@pytest.mark.parametrize("fill", FILLED.values(), ids=FILLED.keys())
def test_what_computes_a_buffer(fill: str) -> None:
    result = said(fill=fill)
    assert result.codes == []
    assert result.verdicts("FSDP204") == {"upheld"}


@pytest.mark.parametrize("fill", ["made_elsewhere(model)", "part = made_elsewhere(model); part.fill()"])
def test_what_may_compute_it_proves_nothing(fill: str) -> None:
    result = said(fill=fill)
    assert result.codes == []
    assert result.verdicts("FSDP204") == {"unknown"}


def test_shards_change_before_the_backward_pass() -> None:
    """FSDP408: the memory of a shard is that of its parameter; a copy is another tensor."""
    program = """
model = nn.Linear(4, 4)
fully_shard(model)
loss = model(torch.randn(2, 4)).sum()
with torch.no_grad():
    for each in model.parameters():
        {change}
loss.backward()
"""
    found = [
        analyse(HEAD + program.replace("{change}", change)).codes
        for change in ("each.to_local().mul_(0.9)", "each.clone().to_local().mul_(0.9)", "each.to_local().mul(0.9)")
    ]
    assert found == [["FSDP408"], [], []]


def test_what_never_had_the_model_computes_no_buffer_of_it() -> None:
    assert said(fill="part = made_elsewhere(); part.fill()").codes == ["FSDP204"]


def test_what_comes_behind_the_first_pass_is_too_late() -> None:
    assert said(later="shadow.table.fill_(1.0); model.table.fill_(1.0)").codes == ["FSDP204"]
