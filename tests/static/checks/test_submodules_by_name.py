"""``set_submodule`` puts a module into another one, by a dotted name that is written or computed."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

HEAD = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = Net()
"""
SHARD = """
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
"""
TRAIN = """
optimizer = torch.optim.AdamW(model.parameters())
for batch in torch.load("batches.pt"):
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_what_comes_too_late_is_in_no_group() -> None:
    late = 'model.set_submodule("head", nn.Linear(8, 8))\n'
    assert "FSDP304" in analyse(script(HEAD + SHARD + late + TRAIN)).codes
    assert "FSDP304" not in analyse(script(HEAD + late + SHARD + TRAIN)).codes


@pytest.mark.parametrize(
    "late",
    [
        'model.set_submodule("layers.0.extra", nn.Linear(8, 8))',
        'model.get_submodule("layers.0").extra = nn.Linear(8, 8)',
        "model.layers[0].extra = nn.Linear(8, 8)",
        "model.layers[0] = nn.Linear(8, 8)",
        'model.set_submodule("layers.0", nn.Linear(8, 8))',
    ],
)
def test_what_comes_into_one_block_of_several_or_in_its_place(late: str) -> None:
    assert "FSDP304" in analyse(script(HEAD + SHARD + late + TRAIN)).codes


@pytest.mark.parametrize(
    "late",
    [
        "extra = nn.Linear(8, 8)\nfully_shard(extra)\nmodel.layers[0] = extra",
        "model.layers[0].extra = nn.Linear(8, 8)\nfully_shard(model.layers[0].extra)",
        "model.layers[0] = torch.compile(model.layers[0])",
        "model.layers[0].extra = nn.Dropout(0.1)",
    ],
)
def test_what_is_a_group_of_its_own_or_brings_no_parameters(late: str) -> None:
    assert "FSDP304" not in analyse(script(HEAD + SHARD + late + TRAIN)).codes


EACH = """
for name, module in list(model.named_modules()):
    if isinstance(module, nn.Linear):
        model.set_submodule(name, nn.Linear(8, 8))
"""


def test_a_model_whose_parts_are_replaced_first_stays_known() -> None:
    """It is in no unseen hands: what is wrong later is found."""
    early = "optimizer = torch.optim.AdamW(model.parameters())\n"
    text = HEAD + EACH + early + SHARD + TRAIN.replace("optimizer = torch.optim.AdamW(model.parameters())\n", "")
    assert "FSDP601" in analyse(script(text)).codes


def test_parts_that_are_replaced_afterwards_are_not_upheld() -> None:
    assert "upheld" not in analyse(script(HEAD + SHARD + EACH + TRAIN)).verdicts("FSDP304")
