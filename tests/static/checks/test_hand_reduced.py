"""FSDP315 in programs that reduce something: a loss for the log, a count, or the very gradients that FSDP2 ignores."""

from __future__ import annotations

import pytest

from tests.static.program import Analysis, analyse

SCRIPT = """\
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(8, 8)
        self.head = nn.Linear(8, 8)

    def forward(self, x):
        return self.head(self.embed(x))

MORE

def main(every):
    dist.init_process_group("gloo")
    model = Net()
    ignored = {model.embed.weight}
    fully_shard(model, ignored_params=ignored)
    optimizer = OPTIMIZER(model.parameters())
    for step in range(3):
        x = torch.randint(8, (4,))
        loss = F.cross_entropy(model(x), x)
        loss.backward()
        BEFORE
        optimizer.step()
        optimizer.zero_grad()
        AFTER


main(2)
"""
EACH = "for p in ignored: dist.all_reduce(p.grad)"
NAMED = "dist.all_reduce(model.embed.weight.grad, op=dist.ReduceOp.AVG)"
SYNC = "def sync(parameters):\n    for p in parameters:\n        dist.all_reduce(p.grad)\n"
OWN = """\
class Own(torch.optim.SGD):
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                dist.all_reduce(p.grad)
        super().step()
"""


def run(before: str = "pass", after: str = "pass", more: str = "", optimizer: str = "torch.optim.AdamW") -> Analysis:
    text = SCRIPT.replace("BEFORE", before).replace("AFTER", after).replace("MORE", more)
    return analyse({"train.py": text.replace("OPTIMIZER", optimizer)})


@pytest.mark.parametrize(
    "after",
    ["pass", "dist.all_reduce(loss.detach())", "seen = torch.tensor(x.numel()); dist.all_reduce(seen)",
     "dist.all_reduce(getattr(torch, 'zeros')(1))"],
)  # fmt: skip
def test_what_else_is_reduced_does_not_count(after: str) -> None:
    assert "FSDP315" in run(after=after).codes


@pytest.mark.parametrize(
    ("before", "more"), [(EACH, ""), (NAMED, ""), ("sync(ignored)", SYNC), ("if every: pass\n        " + NAMED, "")]
)
def test_gradients_that_are_reduced_before_each_step(before: str, more: str) -> None:
    assert run(before, more=more).verdicts("FSDP315") == {"upheld"}


def test_one_of_two_parameters_of_a_layer() -> None:
    more = "dist.all_reduce(model.head.weight.grad)"
    text = SCRIPT.replace("MORE", "").replace("AFTER", "pass").replace("OPTIMIZER", "torch.optim.AdamW")
    both = text.replace("{model.embed.weight}", "{model.head.weight, model.head.bias}")
    assert analyse({"train.py": both.replace("BEFORE", more)}).verdicts("FSDP315") == {"unknown"}
    more += "; dist.all_reduce(model.head.bias.grad)"
    assert analyse({"train.py": both.replace("BEFORE", more)}).verdicts("FSDP315") == {"upheld"}


@pytest.mark.parametrize(
    ("before", "after", "more", "optimizer"),
    [
        (f"if step % 2: {NAMED}", "pass", "", "torch.optim.AdamW"),
        ("pass", NAMED, "", "torch.optim.AdamW"),
        ("dist.all_reduce(model.head.weight.grad)", "pass", "", "torch.optim.AdamW"),
        ("flat = torch.zeros(64); flat.copy_(model.embed.weight.grad.view(-1)); dist.all_reduce(flat)", "pass", "",
         "torch.optim.AdamW"),
        ("for p in ignored: dist.all_reduce(getattr(p, dist.get_backend()))", "pass", "", "torch.optim.AdamW"),
        ("pass", "dist.all_reduce(loss.detach())", OWN, "Own"),
    ],
)  # fmt: skip
def test_what_may_be_these_gradients_is_not_known(before: str, after: str, more: str, optimizer: str) -> None:
    assert run(before, after, more, optimizer).verdicts("FSDP315") == {"unknown"}
