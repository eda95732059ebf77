"""A generator of parameters that each round of a loop reads again, and those of which each round has its own."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

SETUP = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model, other = Net(), Net()
for net in (model, other):
    fully_shard(net)
optimizer = torch.optim.AdamW(model.parameters())
"""
HELPERS = """
from torch.nn.utils import clip_grad_norm_


def clipper(net):
    params = net.parameters()

    def clip():
        return clip_grad_norm_(params, 1.0)

    return clip


def clipped(params):
    return clip_grad_norm_(params, 1.0)


def run(batch, params):
    return clipped(params)
"""


def told(train: str) -> bool:
    return "FSDP607" in analyse(script(SETUP + train, HELPERS)).codes


@pytest.mark.parametrize(
    "train",
    [
        """
clip = clipper(model)
for batch in torch.load("batches.pt"):
    model(batch).sum().backward()
    clip()
""",
        """
clip = clipper(model)
def step_once(batch):
    model(batch).sum().backward()
    clip()
for batch in torch.load("batches.pt"):
    step_once(batch)
""",
    ],
    ids=["called in the loop", "called by what the loop calls"],
)
def test_a_closure_keeps_one(train: str) -> None:
    assert told(train)


@pytest.mark.parametrize(
    "train",
    [
        """
for params in (model.parameters(), other.parameters()):
    clipped(params)
""",
        """
for params in [net.parameters() for net in (model, other)]:
    clipped(params)
""",
        """
for batch, params in zip(torch.load("batches.pt"), [net.parameters() for net in (model, other)]):
    run(batch, params)
""",
        """
for params in [net.parameters() for net in (model, other)]:
    def clip():
        return clip_grad_norm_(params, 1.0)
    clip()
""",
        """
for batch in torch.load("batches.pt"):
    clipper(model)()
""",
    ],
    ids=["a tuple of two", "a list", "through two calls", "a closure of the round", "made in each round"],
)
def test_each_round_has_its_own(train: str) -> None:
    assert not told(train)
