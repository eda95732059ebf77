"""FSDP204 of buffers that a state dict holds: one that is loaded brings them back, and nothing else does."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

MAIN = """
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict
import torch.distributed.checkpoint as dcp

class Rotary(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.project = nn.Linear(wide, wide)
        self.register_buffer("table", torch.arange(wide).float())

    def start(self):
        nn.init.normal_(self.project.weight)
        nn.init.zeros_(self.project.bias)

    def forward(self, x):
        return self.project(x) + self.table

dist.init_process_group("nccl")
with torch.device("meta"):
    model = Rotary(8)
fully_shard(model)
model.to_empty(device="cuda")
model.start()
{}
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(1, 8)).sum().backward()
optimizer.step()
"""
GIVEN = "set_model_state_dict(model, torch.load('x.pt'), options=StateDictOptions(full_state_dict=True{}))"


def verdicts(then: str) -> set[str]:
    return analyse(script(MAIN.format(then))).verdicts("FSDP204")


@pytest.mark.parametrize("then", ["pass", f"if os.environ.get('RESUME'):\n    {GIVEN.format('')}"])
def test_without_one_it_is_garbage(then: str) -> None:
    assert verdicts(then) == {"violated"}


@pytest.mark.parametrize("then", [
    GIVEN.format(""),
    "held = get_model_state_dict(model)\ndcp.load(held, checkpoint_id='x')\nset_model_state_dict(model, held)",
    "model.load_state_dict(torch.load('x.pt'), assign=True)",
    "model.table.copy_(torch.arange(8))",
    "model.table = torch.arange(8).float()",
])  # fmt: skip
def test_what_brings_it_back(then: str) -> None:
    assert verdicts(then) == {"upheld"}


@pytest.mark.parametrize("then", [GIVEN.format(", strict=False"), "from unseen_package import fill\nfill(model)"])
def test_what_may_bring_it_back(then: str) -> None:
    assert verdicts(then) == {"unknown"}


CHECKED = """
class Rotary(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.register_buffer("table", torch.arange(wide).float(), persistent=False)

    def forward(self, x):
        return x + self.table

class Net(nn.Module):
    def __init__(self, wide, heads):
        super().__init__()
        self.project = nn.Linear(wide, wide)
        {}
        self.rotary = Rotary(wide)

    def start(self):
        nn.init.normal_(self.project.weight)
        nn.init.zeros_(self.project.bias)

    def forward(self, x):
        return self.rotary(self.project(x))

dist.init_process_group("nccl")
with torch.device("meta"):
    model = Net(8, int(os.environ["HEADS"]))
fully_shard(model)
model.to_empty(device="cuda")
model.start()
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(1, 8)).sum().backward()
optimizer.step()
"""


@pytest.mark.parametrize(("check", "verdict"), [
    ("pass", "violated"),
    ("assert heads % 2 == 0", "violated"),
    ("if heads % 2:\n            raise ValueError(heads)", "violated"),
    ("if heads % 2:\n            self.rotary = nn.Identity()\n            return", "unknown"),
])  # fmt: skip
def test_who_comes_past_a_check_has_what_is_made_behind_it(check: str, verdict: str) -> None:
    assert analyse(script(CHECKED.format(check))).verdicts("FSDP204") == {verdict}


AVERAGE = """
with torch.device("meta"):
    average = Rotary(8).requires_grad_(False)
fully_shard(average)
average.to_empty(device="cuda")
average.load_state_dict(model.state_dict(), strict=False)
{}
with torch.no_grad():
    average(torch.ones(1, 8))
"""


@pytest.mark.parametrize(
    ("then", "expected"), [("pass", "violated"), ("average.table = torch.arange(8).float()", "upheld")]
)
def test_a_model_that_is_only_run(then: str, expected: str) -> None:
    """A teacher, or the mean of the weights: no backward comes behind its forward."""
    trained = MAIN.format("model.table.copy_(torch.arange(8))").replace(
        "torch.arange(wide).float())", "torch.arange(wide).float(), persistent=False)"
    )
    found = analyse(script(trained + AVERAGE.format(then)))
    assert found.codes.count("FSDP204") == (expected == "violated")
