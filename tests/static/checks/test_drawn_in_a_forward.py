"""FSDP405 of numbers that a forward draws: also where a condition asks what was made of them."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

NET = """
class Levels(nn.Module):
    def __init__(self):
        super().__init__()
        self.levels = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))
        self.head = nn.Linear(4, 4)

    def forward(self, z):
        depths = DRAWN
        for index, level in enumerate(self.levels):
            live = (index < depths).to(z.dtype)
            BODY
        return self.head(z)
"""
MAIN = """
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
torch.manual_seed(0)
model = Levels()
for level in model.levels:
    fully_shard(level)
fully_shard(model)
torch.manual_seed(1 + dist.get_rank())
optimizer = torch.optim.AdamW(model.parameters())
for batch in torch.load("batches.pt"):
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
LEFT = "if not live.any():\n                break\n            z = z + level(z)"
PASSED = "if live.any():\n                z = z + level(z)"
ALWAYS = "z = z + level(z) * live"


@pytest.mark.parametrize(
    ("drawn", "body", "verdict"),
    [
        ("torch.randint(1, 5, (z.shape[0],))", LEFT, "violated"),
        ("torch.randint(1, 5, (z.shape[0],))", PASSED, "violated"),
        ("torch.rand(z.shape[0]) * 4", PASSED, "unknown"),  # of rates, which may be 0
        ("torch.randint(1, 5, (z.shape[0],))", ALWAYS, "upheld"),
    ],
)
def test_levels_that_a_rank_draws(drawn: str, body: str, verdict: str) -> None:
    found = analyse(script(MAIN, NET.replace("DRAWN", drawn).replace("BODY", body))).verdicts("FSDP405")
    assert found == {verdict} or verdict == "upheld" and not found
