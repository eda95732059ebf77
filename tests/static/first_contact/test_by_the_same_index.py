"""What an index of a loop names, it names again in the same round; in another round, or another list, it need not."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

STAGES = """
class Stage(nn.Module):
    def __init__(self, number, config):
        super().__init__()
        self.layers = nn.ModuleList([Block() for _ in range(4)])
        self.head = nn.Linear(64, 64) if number == config.last else None

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x) if self.head is not None else x
"""
MAIN = """
from settings import config
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
stages = nn.Sequential(Stage(config.first, config), Stage(config.second, config))
for i in range(2):
    {body}
optimizer = torch.optim.AdamW(stages.parameters())
stages(torch.ones(2, 64)).sum().backward()
optimizer.step()
"""
RIGHT = """
    if stages[i].head is not None:
        fully_shard(stages[i].head)
    for layer in stages[i].layers:
        fully_shard(layer)
    fully_shard(stages[i])
"""
TWICE = RIGHT.replace("fully_shard(stages[i].head)", "fully_shard(stages[i].head); fully_shard(stages[i].head)")
TOO_LATE = """
    fully_shard(stages[i])
    if stages[i].head is not None:
        fully_shard(stages[i].head)
"""
TWO_LOOPS = """
    if stages[i].head is not None:
        fully_shard(stages[i].head)
for j in range(2):
    fully_shard(stages[j])
"""
ANOTHER_ELEMENT = """
    fully_shard(stages[i])
    if stages[1 - i].head is not None:
        stages[1 - i].head.requires_grad_(True)
"""


def codes(body: str) -> list[str]:
    return analyse(script(MAIN.format(body=body.strip()), STAGES)).codes


@pytest.mark.parametrize(("body", "expected"), [(TWICE, "FSDP305"), (TOO_LATE, "FSDP302")], ids=["twice", "too late"])
def test_the_same_element_in_one_round(body: str, expected: str) -> None:
    assert expected in codes(body)


@pytest.mark.parametrize("body", [RIGHT, TWO_LOOPS, ANOTHER_ELEMENT], ids=["right", "two loops", "another element"])
def test_what_need_not_be_the_same(body: str) -> None:
    assert not {"FSDP302", "FSDP305"} & set(codes(body))


def test_a_list_that_changes_meanwhile() -> None:
    """The first of a list is another one when the first has been taken out."""
    body = """
    waiting = [stages[0], stages[1]] * config.times
    while waiting:
        fully_shard(waiting[0])
        waiting.pop(0)
    """
    main = MAIN.replace("for i in range(2):\n    {body}", "{body}")
    assert "FSDP305" not in analyse(script(main.format(body=body.replace("\n    ", "\n").strip()), STAGES)).codes
