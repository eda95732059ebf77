"""Weights that are bf16 from one statement on are one fault, however many kinds of optimizer a setting chooses from."""

from __future__ import annotations

from tests.static.first_contact.programs import main
from tests.static.program import analyse

KINDS = """
def optimizer_of(model):
    kind = os.environ["OPTIMIZER"]
    if kind == "adam":
        return torch.optim.Adam(model.parameters())
    try:
        return torch.optim.AdamW(model.parameters(), fused=True)
    except TypeError:
        return torch.optim.AdamW(model.parameters())
"""
CAST = """
model = Net()
model.to(torch.bfloat16)
{other}
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = optimizer_of(model)
loss = model(torch.randn(2, 8)).sum()
loss.backward()
optimizer.step()
"""
OTHER = """
second = Net()
second.to(torch.bfloat16)
fully_shard(second)
other = torch.optim.SGD(second.parameters())
second(torch.randn(2, 8)).sum().backward()
other.step()
"""


def findings(other: str) -> list[str]:
    return [code for code in analyse(main(CAST.replace("{other}", other), KINDS)).codes if code == "FSDP501"]


def test_one_cast_is_one_finding() -> None:
    assert len(findings("")) == 1


def test_two_casts_are_two() -> None:
    assert len(findings(OTHER)) == 2
