"""Seeds of which a path decides which one it is: what is said of each of them is said of the seed."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

MAIN = """
dist.init_process_group("nccl")
model = Net()
fully_shard(model)
base = 7 if os.environ.get("DEBUG") else 11
torch.manual_seed(SEED)
data = torch.load("tokens.pt")
sampler = torch.utils.data.DistributedSampler(data, shuffle=True, seed=torch.initial_seed())
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(2):
    sampler.set_epoch(epoch)
    for tokens in torch.utils.data.DataLoader(data, sampler=sampler):
        model(tokens).sum().backward()
        optimizer.step()
"""


@pytest.mark.parametrize("seed", ["base + dist.get_rank()", "3 + dist.get_rank()"])
def test_each_of_them_is_of_the_rank(seed: str) -> None:
    assert analyse(script(MAIN.replace("SEED", seed))).verdicts("FSDP811") == {"violated"}


@pytest.mark.parametrize("seed", ["base", "dist.get_rank() if base > 8 else 5"])
def test_not_each_of_them_is(seed: str) -> None:
    assert analyse(script(MAIN.replace("SEED", seed))).verdicts("FSDP811") != {"violated"}
