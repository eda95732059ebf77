"""A trainer that runs with and without a launcher: what holds on one side is judged where the model is sharded."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, limited, script

SETUP = """
def setup():
    if int(os.environ.get("RANK", -1)) != -1:
        rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl")
        offset = OFFSET
    else:
        rank, world, offset = 0, 1, 0
    seed = 42 + offset
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
    return world
"""
TRAIN = """
world = setup()
model = Net()
if world > 1:
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
else:
    model.load_state_dict(torch.load("one.pt"))
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8)).sum().backward()
optimizer.step()
"""


@pytest.mark.parametrize(("offset", "violated"), [("rank", True), ("7", False)])
def test_a_seed_of_each_rank(offset: str, violated: bool) -> None:
    assert ("violated" in analyse(script(TRAIN, SETUP.replace("OFFSET", offset))).verdicts("FSDP203")) is violated


TRAINER = """
import mystery


class Trainer:
    def __init__(self, model):
        self.model, self.optimizer = model, torch.optim.AdamW(model.parameters())

    def train(self):
LINES
        self.model(torch.ones(2, 8)).sum().backward()
        self.optimizer.step()
        mystery.note(self.optimizer.param_groups[0]["lr"])
"""
RUN = """
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
Trainer(model).train()
"""


@pytest.mark.parametrize(("share", "verdict"), [(0.5, "upheld"), (0.0, "unknown")])
def test_training_gets_more_steps_than_what_stands_beside_it(share: float, verdict: str) -> None:
    """Once something is sharded, a method of what holds it may take half of what the program has left."""
    lines = "\n".join(f"        x{number} = {number}" for number in range(150))
    with limited(call_steps=110, training_share=share):
        assert analyse(script(RUN, TRAINER.replace("LINES", lines))).verdicts("FSDP301") == {verdict}
