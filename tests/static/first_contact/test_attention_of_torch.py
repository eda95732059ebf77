"""Layers that hold ``nn.MultiheadAttention`` are found by a loop over ``modules()``, and so is its ``out_proj``."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

LAYERS = """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(16, 16)
        self.layers = nn.Sequential(*[Layer() for _ in range(4)])

    def forward(self, x):
        return self.layers(self.embed(x))


def wrap(model):
    for module in model.modules():
        if isinstance(module, KIND):
            fully_shard(module)
"""
BODY = """
model = Encoder()
wrap(model)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 4, 16)).sum().backward()
optimizer.step()
"""


@pytest.mark.parametrize("kind", ["Layer", "nn.MultiheadAttention"])
def test_the_root_is_left_out(kind: str) -> None:
    assert analyse(main(BODY, LAYERS.replace("KIND", kind))).codes == ["FSDP303"]


def test_the_root_is_sharded_too() -> None:
    found = analyse(
        main(BODY.replace("wrap(model)", "wrap(model)\nfully_shard(model)"), LAYERS.replace("KIND", "Layer"))
    )
    assert found.codes == []


def test_its_projection_is_a_linear_layer() -> None:
    """Sharded alone it leaves the other weights of the attention to whoever shards the layer."""
    found = analyse(
        main(BODY, LAYERS.replace("KIND", "nn.Linear").replace("nn.Linear(16, 16)", "nn.Embedding(16, 16)"))
    )
    assert found.codes == ["FSDP303"]
