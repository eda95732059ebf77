"""FSDP603 of a parameter that is reached by the names of modules, rather than among all of a model."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

PROGRAM = """
def norm_of(x):
    return torch.linalg.vector_norm(x).item()


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = Net()
model.scale = nn.Parameter(torch.ones(64))
BEFORE
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
READ
optimizer.step()
"""


def verdicts(read: str, before: str = "pass") -> set[str]:
    return analyse(script(PROGRAM.replace("READ", read).replace("BEFORE", before))).verdicts("FSDP603")


@pytest.mark.parametrize(
    "read",
    [
        "print(norm_of(model.head.weight))",
        "n = model.head.weight.norm().item()\nif n > 3:\n    model.head.weight.data.mul_(3 / n)",
        "print(float(model.head.weight.grad.abs().max())) if False else print(model.head.weight.grad.norm().item())",
        "print(torch.max(model.embed.weight).item())",
        "print(model.scale.sum().item())",
    ],
)
def test_each_rank_reads_its_own_part(read: str) -> None:
    assert "violated" in verdicts(read)


@pytest.mark.parametrize(
    ("read", "before"),
    [
        ("print(model.head.weight.norm().full_tensor().item())", "pass"),
        ("print(norm_of(model.head.weight.full_tensor()))", "pass"),
        ("pass", "print(norm_of(model.head.weight))"),
        ("print(model.head.weight.numel())", "pass"),
    ],
)
def test_what_is_whole(read: str, before: str) -> None:
    assert "violated" not in verdicts(read, before)
