"""FSDP801 is about collectives: what gathers nothing may run on some ranks only."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, limited, script

PARTS = """
class Tagged(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))
        self.tagger = nn.Linear(8, 8)

    def forward(self, x, labels=None):
        for layer in self.layers:
            x = layer(x)
        if labels is not None:
            x = self.tagger(x)
        return x
"""
TRAINING = """
dist.init_process_group("gloo")
model = Tagged()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
labels = torch.ones(1) if dist.get_rank() == 0 else None
model(torch.ones(2, 8), labels).sum().backward()
"""


OWN_GROUP = TRAINING.replace("fully_shard(model)", "fully_shard(model.tagger)\nfully_shard(model)")


def test_a_part_of_a_gathered_group_gathers_nothing() -> None:
    assert "FSDP801" not in analyse(script(TRAINING, net=PARTS)).codes


def test_a_group_of_its_own_does() -> None:
    """Inside a forward that is said by the clause on what runs in it."""
    assert "FSDP405" in analyse(script(OWN_GROUP, net=PARTS)).codes


LOOP = """
dist.init_process_group("gloo")
model = Tagged()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
batches = torch.load("batches.pt")
%s
if dist.get_rank() == 0:
    dist.barrier()
"""
UNSEEN = "import mystery_lib\nfrom tqdm import tqdm\n"


@pytest.mark.parametrize("loop", [
    "if dist.get_rank() == 0:\n    batches = tqdm(batches)\nfor batch in batches:\n    mystery_lib.run(batch)",
    "rounds = tqdm(batches) if dist.get_rank() == 0 else batches\nfor batch in rounds:\n    mystery_lib.run(batch)",
    "name = 'first' if dist.get_rank() == 0 else 'other'\nmystery_lib.run(name)",
])  # fmt: skip
def test_unseen_code_that_all_ranks_run_stands_for_none(loop: str) -> None:
    assert analyse(script(LOOP % loop, UNSEEN, net=PARTS)).codes == ["FSDP801"]


@pytest.mark.parametrize("loop", [
    "if dist.get_rank() != 0:\n    mystery_lib.run(model)",
    "if dist.get_rank() == 0:\n    print()\nelse:\n    mystery_lib.run(model)",
    "print() if dist.get_rank() == 0 else mystery_lib.run(model)",
    "run = print if dist.get_rank() == 0 else mystery_lib.run\nrun(model)",
])  # fmt: skip
def test_unseen_code_of_the_other_ranks_may_do_the_same(loop: str) -> None:
    assert analyse(script(LOOP % loop, UNSEEN, net=PARTS)).codes == []


@pytest.mark.parametrize("steps", range(100, 1_000, 50))
def test_a_side_that_the_budget_cut_is_not_one_that_stays_away(steps: int) -> None:
    """What is done between the two is done on both sides; the second one may be beyond the last step."""
    before = """
from contextlib import contextmanager

@contextmanager
def profiled():
    if dist.get_rank() == 0:
        print("begins")
        yield
        print("ends")
    else:
        yield

def meet():
    dist.barrier()

def wait():
    meet()

def gather():
    wait()

def work(model):
    with profiled():
        gather()
        number = 0
        {filler}
""".format(filler="; ".join(["number += 1"] * 60))
    body = "model = Net()\nfully_shard(model)\nwork(model)\nmodel(torch.zeros(2, 8))\n"
    with limited(script_steps=steps):
        assert "FSDP801" not in analyse(script(body, before)).codes
