"""``copy.deepcopy(model)`` before anything is sharded: a second model of the same parts, to which the same happened."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import Analysis, analyse

HELPERS = """
import copy
import unseen

def shard(model):
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)

class Tied(Net):
    def __init__(self):
        super().__init__()
        self.head.weight = self.embed.weight

class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()
        self.same = [self.net]
"""
RUN = """
model = {made}
{before}
ema = copy.deepcopy(model)
shard(model)
{sharded}
optimizer = torch.optim.AdamW(model.parameters())
for batch in torch.zeros(100, 8, 4, dtype=torch.long):
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    {used}
"""


def run(made: str = "Net()", before: str = "pass", sharded: str = "shard(ema)", used: str = "ema(batch)") -> Analysis:
    return analyse(main(RUN.format(made=made, before=before, sharded=sharded, used=used), HELPERS))


def test_a_copy_that_is_sharded_as_the_first() -> None:
    right = run()
    assert right.codes == []
    assert right.verdicts("FSDP302") == right.verdicts("FSDP303") == right.verdicts("FSDP305") == {"upheld"}


LAYERS = "for layer in ema.layers:\n    fully_shard(layer)"
TRAINED = "ema(batch).sum().backward()"
FAULTS = {
    "the parent first": ("FSDP302", {"sharded": "fully_shard(ema)\nfor layer in ema.layers:\n    fully_shard(layer)"}),
    "twice": ("FSDP305", {"sharded": "shard(ema)\nfully_shard(ema.layers[0])"}),
    "its root is not": (
        "FSDP303",
        {"sharded": f"{LAYERS}\nlate = torch.optim.SGD(ema.parameters())", "used": f"{TRAINED}\n    late.step()"},
    ),
    "not through its call": ("FSDP401", {"used": "ema.forward(batch)"}),
    "an optimizer of the copy": (
        "FSDP601",
        {"sharded": "late = torch.optim.SGD(ema.parameters())\nshard(ema)", "used": "late.step()"},
    ),
}


@pytest.mark.parametrize(("code", "given"), FAULTS.values(), ids=FAULTS)
def test_what_is_done_wrong_with_the_copy(code: str, given: dict[str, str]) -> None:
    assert code in run(**given).codes


CARRIED = {
    "weights in half precision": ("FSDP501", {"before": "model.bfloat16()"}),
    "tied weights": (
        "FSDP307",
        {"made": "Tied()", "sharded": "fully_shard(ema.head)\nshard(ema)"},
    ),
}


@pytest.mark.parametrize(("code", "given"), CARRIED.values(), ids=CARRIED)
def test_what_happened_to_the_first_holds_of_the_copy(code: str, given: dict[str, str]) -> None:
    sharded = given.get("sharded", "shard(ema)") + "\nagain = torch.optim.AdamW(ema.parameters())"
    found = run(**{**given, "sharded": sharded, "used": f"{TRAINED}\n    again.step()"})
    assert code in found.codes


UNSEEN = {
    "it has no values yet": "with torch.device('meta'):\n    model = Net()",
    "unseen code had it": "unseen.prepare(model)",
    "a part of it was handed on": "unseen.prepare(model.layers)",
    "it is wrapped": "model = unseen.Wrapper(model)",
}


@pytest.mark.parametrize("before", UNSEEN.values(), ids=UNSEEN)
def test_what_cannot_be_copied_is_not_known(before: str) -> None:
    sharded = f"{LAYERS}\nlate = torch.optim.SGD(ema.parameters())"
    assert "FSDP303" not in run(before=before, sharded=sharded, used=f"{TRAINED}\n    late.step()").codes


def test_what_two_attributes_share_is_shared_in_the_copy() -> None:
    """Sharded through the list, the net of the copy is sharded, and called through the attribute."""
    body = """
model = Pair()
twin = copy.deepcopy(model)
for net in twin.same:
    shard(net)
optimizer = torch.optim.AdamW(twin.net.parameters())
twin.net.forward(torch.zeros(2, 4, dtype=torch.long)).sum().backward()
optimizer.step()
"""
    assert "FSDP401" in analyse(main(body, HELPERS)).codes
    assert "FSDP401" not in analyse(main(body.replace("twin.same", "model.same"), HELPERS)).codes
