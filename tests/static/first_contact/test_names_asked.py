"""A filter over the modules of a model whose parts are not known asks their names: which of them pass is open."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

LAYERED = """
class Layered(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(64, 8) for _ in range(8)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
FILTERS = [
    'name.startswith("layers.") and name.count(".") == 1',
    'name.count(".") + 1 == 2',
    'any(name.startswith(part) and name.count(".") == part.count(".") for part in ("layers.",))',
    'name.removeprefix("layers.").isdigit()',
]


def codes(asked: str) -> list[str]:
    body = f"""
model = Layered()
for name, module in model.named_modules():
    if {asked}:
        fully_shard(module)
fully_shard(model)
"""
    return analyse(main(body, LAYERED)).codes


@pytest.mark.parametrize("asked", FILTERS)
def test_what_is_asked_of_a_name(asked: str) -> None:
    assert "FSDP302" not in codes(asked)


@pytest.mark.parametrize("asked", ["True", "not dist.is_mpi_available()"])
def test_all_pass(asked: str) -> None:
    assert "FSDP302" in codes(asked)
