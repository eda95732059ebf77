"""FSDP407 where two models take turns: a backward of one of them frees nothing of the other one."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

MODELS = """
class Stage(nn.Sequential):
    def __init__(self, width, up):
        layers = [nn.Linear(width, width) for _ in range(3)]
        if up:
            super().__init__(nn.Linear(width, width), *layers)
        else:
            super().__init__(*layers, nn.Linear(width, width))


class Maker(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.down, self.up = Stage(width, False), Stage(width, True)
        self.head = nn.Linear(width, width)

    def forward(self, x):
        return self.head(self.up(self.down(x)))


def shard(model):
    for part in reversed(list(model.modules())):
        if isinstance(part, Stage):
            fully_shard(part)
    return fully_shard(model)


def own_turn(maker, judge, optimizer, batch):
    made = maker(batch)
    judge(made).mean().backward()
    OWN
    optimizer.zero_grad()


def other_turn(maker, judge, optimizer, batch):
    with MODE:
        made = maker(batch)
    judge(made).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
MAIN = """
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
torch.manual_seed(0)
maker, judge = shard(Maker(int(os.environ["WIDTH"]))), shard(Net())
makes, judges = torch.optim.AdamW(maker.parameters()), torch.optim.AdamW(judge.parameters())
for batch in torch.load("batches.pt"):
    own_turn(maker, judge, makes, batch)
    other_turn(maker, judge, judges, batch)
    AFTER
"""


@pytest.mark.parametrize(
    ("own", "after", "mode", "verdict"),
    [
        ("optimizer.step()", "pass", "torch.no_grad()", "upheld"),
        ("pass", "makes.step()", "torch.no_grad()", "violated"),
        ("pass", "maker.reshard()\n    makes.step()", "torch.no_grad()", "upheld"),
        ("pass", "makes.step()", "torch.enable_grad()", "upheld"),  # the other one's backward goes through it
    ],
)
def test_a_forward_of_the_one_in_the_turn_of_the_other(own: str, after: str, mode: str, verdict: str) -> None:
    text = script(MAIN.replace("AFTER", after), MODELS.replace("OWN", own).replace("MODE", mode))
    found = analyse(text).verdicts("FSDP407")
    assert found == {verdict} or verdict == "upheld" and not found
