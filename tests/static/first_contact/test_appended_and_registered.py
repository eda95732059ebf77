"""The last element of a list, in the round that has appended it, is what was appended."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

KINDS = """
class Stack(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.blocks = []
        for index in range(number):
            self.blocks.append(nn.Linear(64, 64))
            {registered}

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""
MODEL = """
with torch.device("meta"):
    model = Stack(int(sys.argv[1]))
for block in model.blocks:
    fully_shard(block)
fully_shard(model)
{filled}
for part in model.modules():
    if hasattr(part, "reset_parameters"):
        part.reset_parameters()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    model(torch.randn(4, 64, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
REGISTERED = [
    'self.add_module(f"block_{index}", self.blocks[-1])',
    'self.register_module(f"block_{index}", self.blocks[-1])',
    'setattr(self, f"block_{index}", self.blocks[-1])',
]
FILLED = 'model.to_empty(device="cuda")'


def codes(registered: str, filled: str) -> list[str]:
    return analyse(main(MODEL.format(filled=filled), KINDS.format(registered=registered))).codes


@pytest.mark.parametrize("registered", REGISTERED)
def test_it_is_a_part_of_the_model(registered: str) -> None:
    assert "FSDP202" not in codes(registered, FILLED)
    assert "FSDP202" in codes(registered, "pass")
