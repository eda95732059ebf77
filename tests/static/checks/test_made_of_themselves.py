"""Numbers that a later round of a loop makes of what they were: what they begin with is not what they stay."""

from __future__ import annotations

import pytest

from tests.static.program import analyse

SCRIPT = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard


class Plateau:
    def __init__(self, optimizer, lr):
        self.optimizer, self.lr = optimizer, lr
        self.best, self.waited, self.damping = float("inf"), 0, 1.0

    def apply(self):
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr * self.damping

    def observe(self, score):
        if score > self.best:
            CHANGE


dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.Linear(4, 4)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
pacer = Plateau(optimizer, 0.1)
torch.manual_seed(dist.get_rank())
for step in range(100):
    loss = model(torch.randn(2, 4)).square().mean()
    loss.backward()
    pacer.apply()
    optimizer.step()
    optimizer.zero_grad()
    pacer.observe(loss.item())
"""
CHANGES = [
    "self.damping *= 0.5",
    "self.damping = self.damping / 2",
    "self.damping, self.waited = self.damping / 2, 0",
    "self.damping, self.waited = (self.damping / 2, 0) if self.waited else (1.0, 1)",
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_damping_that_each_rank_changes_for_itself(change: str) -> None:
    assert analyse({"train.py": SCRIPT.replace("CHANGE", change)}).verdicts("FSDP617") == {"unknown"}


def test_two_names_that_a_loop_sets_at_once() -> None:
    """What the first round passes by, a later one does."""
    begin = SCRIPT.split("class Plateau")[0] + SCRIPT[SCRIPT.index("dist.init") : SCRIPT.index("optimizer =")]
    loop = """\
seen, last = 0, None
for step in range(9):
    if seen == 4:
        torch.save(model.state_dict(), "model.pt")
    seen, last = seen + 1, step
"""
    assert analyse({"train.py": begin + loop}).codes == ["FSDP701"]


SET = {  # how a round reads what a call at its end sets: what holds in the first round holds in no other
    "an attribute": ("self.damping = 0.5", "self.damping"),
    "a flag": ("self.slow = True", "(0.5 if self.slow else 1.0)"),
    "an item": ('self.state["damping"] = 0.5', 'self.state["damping"]'),
}


@pytest.mark.parametrize("shape", SET)
def test_numbers_that_a_call_at_the_end_of_a_round_sets(shape: str) -> None:
    change, read = SET[shape]
    text = SCRIPT.replace("CHANGE", change).replace("self.damping\n", f"{read}\n")
    begun = '        self.slow, self.state = False, {"damping": 1.0}\n'
    text = text.replace("\n    def apply", f"{begun}\n    def apply")
    assert analyse({"train.py": text}).codes == ["FSDP617"]


def test_what_all_ranks_set_alike_stays_the_same_on_all() -> None:
    text = SCRIPT.replace("CHANGE", "self.damping = 0.5").replace("pacer.observe(loss.item())", "pacer.observe(step)")
    assert analyse({"train.py": text}).codes == []
