"""FSDP408 where one loop trains a model that is sharded on one path and wrapped otherwise on the other."""

from __future__ import annotations

from tests.static.program import analyse, script

MAIN = """
dist.init_process_group("nccl")
model = Net()
if os.environ.get("WRAP") == "ddp":
    model = nn.parallel.DistributedDataParallel(model)
else:
    fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    optimizer.zero_grad()
    {}
    loss = model(torch.ones(1, 8, dtype=torch.long)).sum()
    {}
    loss.backward()
    {}
    optimizer.step()
"""
WRITE = "for p in model.parameters(): p.data.mul_(0.5)"


def codes(*places: str) -> set[str]:
    return set(analyse(script(MAIN.format(*places))).codes)


def test_between_the_two_it_is_a_fault() -> None:
    assert "FSDP408" in codes("pass", WRITE, "pass")


def test_before_and_behind_it_is_none() -> None:
    assert "FSDP408" not in codes(WRITE, "pass", "pass") | codes("pass", "pass", WRITE)
