"""FSDP617 of a factor that a rank chooses by its own numbers, and of one that all choose by the same."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

CLASSES = """
class Meter:
    def __init__(self):
        self.sums = {}
        self.counts = {}

    def add(self, **values):
        for key, value in values.items():
            value = value.detach().float()
            self.sums[key] = self.sums[key] + value if key in self.sums else value
            self.counts[key] = self.counts.get(key, 0) + 1

    def local(self):
        return {key: (total / self.counts[key]).item() for key, total in self.sums.items()}

    def reduced(self):
        keys = sorted(self.sums)
        stacked = torch.stack([self.sums[key] / self.counts[key] for key in keys]).clone()
        dist.all_reduce(stacked)
        return dict(zip(keys, stacked.tolist()))


class Adaptive:
    def __init__(self, optimizer, rate):
        self.optimizer, self.rate, self.factor = optimizer, rate, 1.0

    def observe(self, value):
        if value > 2.0:
            self.factor = max(self.factor / 1.5, 0.1)
        elif value < 0.5:
            self.factor = min(self.factor * 1.1, 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * self.factor
"""
MAIN = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
rate, meter = Adaptive(optimizer, 1e-3), Meter()
data = torch.load("tokens.pt")
loader = torch.utils.data.DataLoader(data, sampler=torch.utils.data.DistributedSampler(data))
for tokens in loader:
    loss = model(tokens).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    meter.add(loss=loss, kl=loss * 2)
    figures = {figures}
    rate.observe(figures["kl"])
"""


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [("{'step': 1, **meter.local()}", "violated"), ("meter.local()", "violated"), ("meter.reduced()", "upheld")],
)
def test_a_factor_that_follows_a_number(figures: str, verdict: str) -> None:
    text = script(MAIN.replace("{figures}", figures), CLASSES)
    assert analyse(text).verdicts("FSDP617") == {verdict}


SCHEDULED = """
from torch.optim.lr_scheduler import ReduceLROnPlateau

class Patient(ReduceLROnPlateau):
    def __init__(self, optimizer):
        super().__init__(optimizer, mode="min", patience=1)

    def brief(self):
        return self.best
"""
WATCHED = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
scheduler = Patient(optimizer)
for batch in torch.utils.data.DataLoader(TensorDataset(torch.ones(8, 8)), sampler=DistributedSampler(range(8))):
    loss = model(batch).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    BETWEEN
    scheduler.step(loss)
"""


@pytest.mark.parametrize(("between", "word"), [("pass", "violated"), ("dist.all_reduce(loss)", "upheld")])
def test_a_scheduler_of_the_project_that_derives_from_one_of_torch(between: str, word: str) -> None:
    before = "from torch.utils.data import DistributedSampler, TensorDataset\n" + SCHEDULED
    assert analyse(script(WATCHED.replace("BETWEEN", between), before)).verdicts("FSDP617") == {word}


SUBSET = """
data = torch.load("tokens.pt")
order = torch.randperm(len(data), generator=torch.Generator().manual_seed(1))
loader = torch.utils.data.DataLoader(torch.utils.data.Subset(data, order[PART].tolist()))
"""


@pytest.mark.parametrize(
    ("part", "verdict"), [("dist.get_rank() :: dist.get_world_size()", "violated"), (": 100", "unknown")]
)
def test_a_factor_that_follows_a_part_of_the_data(part: str, verdict: str) -> None:
    sampled = MAIN[MAIN.index('data = torch.load("tokens.pt")') : MAIN.index("for tokens")]
    text = MAIN.replace(sampled, SUBSET.replace("PART", part).lstrip()).replace("{figures}", "meter.local()")
    assert analyse(script(text, CLASSES)).verdicts("FSDP617") == {verdict}
