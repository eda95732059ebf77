"""FSDP314: which dtypes the parameters of a group have is known where each is made, and nothing else says another."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

MIXED = """
from elsewhere import convert, kind


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 8)
        self.gate = GATE

    def forward(self, x):
        return self.up(x) * self.gate
"""
BODY = """
dist.init_process_group("nccl")
BEFORE
model = Gated()
MADE
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(8)).sum().backward()
optimizer.step()
"""
GATE = "nn.Parameter(torch.zeros(8))"
GATES = {
    GATE: "upheld",
    "nn.Parameter(torch.randn(8) * 0.02)": "upheld",
    "nn.Linear(8, 8, dtype=torch.float32)": "upheld",
    "nn.Parameter(torch.zeros(8, dtype=torch.bfloat16))": "violated",
    "nn.Linear(8, 8, dtype=torch.bfloat16)": "violated",
    "nn.Parameter(torch.zeros(8, dtype=kind))": "unknown",
    "nn.Parameter(torch.zeros(8).to(kind))": "unknown",
    "nn.Parameter(torch.load('gate.pt'))": "unknown",
    "convert(8)": "unknown",
}
MADE = {
    "model.to(torch.bfloat16)": "upheld",
    "model.up.to(torch.bfloat16)": "violated",
    "model.up.to(kind)": "unknown",
    "convert(model)": "unknown",
    "model.load_state_dict(torch.load('all.pt'))": "upheld",
    "model.load_state_dict(torch.load('all.pt'), assign=True)": "unknown",
    "model.up.weight.data = model.up.weight.data.half()": "unknown",
    "if os.environ.get('LOW'):\n    model.up.half()": "unknown",
}


def verdicts(gate: str = GATE, before: str = "", made: str = "") -> set[str]:
    body = BODY.replace("BEFORE", before).replace("MADE", made)
    return analyse(script(body, MIXED.replace("GATE", gate))).verdicts("FSDP314")


@pytest.mark.parametrize("gate", GATES)
def test_in_which_dtype_a_parameter_is_made(gate: str) -> None:
    assert verdicts(gate) == {GATES[gate]}


@pytest.mark.parametrize("made", MADE)
def test_what_is_done_to_the_model(made: str) -> None:
    assert verdicts(made=made) == {MADE[made]}


@pytest.mark.parametrize(("gate", "verdict"), [(GATE, "upheld"), ("nn.Linear(8, 8, dtype=torch.float32)", "unknown")])
def test_another_default(gate: str, verdict: str) -> None:
    assert verdicts(gate, before="torch.set_default_dtype(torch.bfloat16)") == {verdict}
