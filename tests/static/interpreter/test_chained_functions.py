"""Functions that one line makes, one inside the other: the links of a chain are no recursion."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

CHAINED = """
import functools


def backward(model, batch):
    model(batch).sum().backward()
    return batch


def clip(model, batch):
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    return batch


def step(optimizer, batch):
    optimizer.step()
    return batch


def clear(optimizer, batch):
    optimizer.zero_grad()
    return batch


def noted(batch):
    return batch


def chain(*stages):
    CHAIN
"""
REDUCED = "return functools.reduce(lambda first, then: lambda value: then(first(value)), stages, lambda value: value)"
WRAPPED = """\
done = noted
    for stage in stages:
        done = linked(done, stage)
    return done


def linked(first, then):
    def both(value):
        return then(first(value))
    return both
"""
MAIN = """
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
partial = functools.partial
update = chain(noted, partial(backward, model), STAGES, partial(clear, optimizer), noted)
for batch in torch.load("batches.pt"):
    update(batch)
"""


@pytest.mark.parametrize("chain", [REDUCED, WRAPPED])
@pytest.mark.parametrize(
    ("stages", "codes"),
    [
        ("partial(clip, model), partial(step, optimizer)", []),
        ("partial(step, optimizer), partial(clip, model)", ["FSDP612"]),
    ],
)
def test_stages_run_in_their_order(chain: str, stages: str, codes: list[str]) -> None:
    text = script(MAIN.replace("STAGES", stages), CHAINED.replace("CHAIN", chain))
    assert analyse(text).codes == codes
