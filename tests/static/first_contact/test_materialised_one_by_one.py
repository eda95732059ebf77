"""Layers that get their memory and are sharded one by one are never on a GPU together."""

from __future__ import annotations

import textwrap

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

LARGE = """
class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(20000, 20000) for _ in range(40)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
ONE_BY_ONE = [
    """
    for layer in model.layers:
        layer.to_empty(device="cuda")
        fully_shard(layer)
    """,
    """
    for layer in model.layers:
        layer.to("cuda")
        fully_shard(layer)
    """,
    """
    def place(layer):
        layer.cuda()
        fully_shard(layer)

    for layer in model.layers:
        place(layer)
    """,
]
TOGETHER = [
    """
    for layer in model.layers:
        layer.to_empty(device="cuda")
    for layer in model.layers:
        fully_shard(layer)
    """,
    """
    for _ in range(1):
        for layer in model.layers:
            layer.to("cuda")
        for layer in model.layers:
            fully_shard(layer)
    """,
    """
    model.to("cuda")
    for layer in model.layers:
        fully_shard(layer)
    """,
]


def said(body: str, device: str) -> bool:
    return "FSDP206" in analyse(main(f'\nwith torch.device("{device}"):\n    model = Deep()\n{body}', LARGE)).codes


@pytest.mark.parametrize("body", ONE_BY_ONE)
def test_a_layer_at_a_time(body: str) -> None:
    assert not said(textwrap.dedent(body) + "fully_shard(model)\n", "meta" if "to_empty" in body else "cpu")


@pytest.mark.parametrize("body", TOGETHER)
def test_all_layers_before_the_first_is_sharded(body: str) -> None:
    assert said(textwrap.dedent(body) + "fully_shard(model)\n", "meta" if "to_empty" in body else "cpu")


ONE = """
assert int(os.environ["WORLD_SIZE"]) == {ranks}
model.{move}
for layer in model.layers:
    fully_shard(layer)
"""


@pytest.mark.parametrize("move", ["to('cuda')", "to_empty(device='cuda')"])
def test_a_job_of_one_rank_keeps_all_of_it(move: str) -> None:
    device = "meta" if "to_empty" in move else "cpu"
    assert not said(ONE.format(ranks=1, move=move), device) and said(ONE.format(ranks=8, move=move), device)
