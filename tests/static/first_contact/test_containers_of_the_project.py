"""Classes of the project that are iterated over: their ``__iter__`` is run, wherever something goes through them."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

CONTAINERS = """
class Listed:
    def __init__(self, parts):
        self.parts = parts

    def __iter__(self):
        return iter(self.parts)

class Yielding(Listed):
    def __iter__(self):
        for part in self.parts:
            yield part

class Named(Listed):
    def __iter__(self):
        yield from dict(enumerate(self.parts)).values()

class Delegating(Listed):
    def __iter__(self):
        return Listed(self.parts).__iter__()
"""
WAYS = {
    "for": "for part in {made}:\n    fully_shard(part)",
    "zip": "for part, _ in zip({made}, range(9)):\n    fully_shard(part)",
    "enumerate": "for _, part in enumerate({made}):\n    fully_shard(part)",
    "list": "parts = list({made})\nfor part in reversed(parts):\n    fully_shard(part)",
    "comprehension": "[fully_shard(part) for part in {made}]",
}
BODY = """
model = Net()
{early}
{shard}
fully_shard(model)
{late}
model(torch.randn(2, 8)).sum().backward()
optimizer.step()
"""
OPTIMIZER = "optimizer = torch.optim.AdamW(model.layers.parameters())"


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("name", ["Listed", "Yielding", "Named", "Delegating"])
def test_what_it_holds_is_sharded(name: str, way: str) -> None:
    shard = way.format(made=f"{name}(model.layers)")
    assert analyse(main(BODY.format(early="", shard=shard, late=OPTIMIZER), CONTAINERS)).codes == []
    assert "FSDP601" in analyse(main(BODY.format(early=OPTIMIZER, shard=shard, late=""), CONTAINERS)).codes


def test_a_container_that_cannot_be_followed() -> None:
    """What it holds is not known, so nothing is said of it."""
    unseen = (
        "import somewhere\nclass Unseen(somewhere.Base):\n    def __iter__(self):\n        return self.all_of_them()\n"
    )
    body = BODY.format(early=OPTIMIZER, shard=WAYS["for"].format(made="Unseen()"), late="")
    assert "FSDP601" not in analyse(main(body.replace("fully_shard(model)\n", ""), unseen)).codes
