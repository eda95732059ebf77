"""What comes out of a package or a call that nobody sees: nothing is upheld that depends on what it is made of."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import Analysis, analyse

OF_THE_MODEL = ["FSDP206", "FSDP301", "FSDP302", "FSDP304", "FSDP305", "FSDP306", "FSDP307", "FSDP314"]
STEPS = """
for step in range(3):
    model(torch.ones(2)).sum().backward()
    optimizer.step()
"""
MAKERS = [
    "model, optimizer = everything()",
    "model, optimizer = Registry.build('tiny')",
    "kit = everything()\nmodel, optimizer = kit['model'], kit['optimizer']",
    "model = everything().cuda()\noptimizer = Registry.optimizer(model)",
]


def upheld(seen: Analysis, codes: list[str]) -> list[str]:
    return [code for code in codes if "upheld" in seen.verdicts(code)]


@pytest.mark.parametrize("made", MAKERS)
def test_what_a_package_that_is_not_there_makes(made: str) -> None:
    seen = analyse(main(f"{made}\nfully_shard(model)\n{STEPS}", "from mystery import Registry, everything\n"))
    assert seen.codes == []
    assert upheld(seen, OF_THE_MODEL) == []


OWN = """
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(8, 8)
        self.blocks = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
        self.head = nn.Linear(8, 8, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x):
        for block in self.blocks:
            x = block(self.embed(x))
        return self.head(x)

def prepare(model):
    fully_shard(model.embed)
    fully_shard(model.head)
    fully_shard(model)
    return model
"""
AGAIN = """
for block in model.blocks:
    fully_shard(block)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
"""
FAULTS = ["FSDP302", "FSDP305", "FSDP307"]
HIDDEN = [
    ("model = prepare(Tied())", "from elsewhere import Tied, prepare\n"),
    ("model = eval('prepare(Tied())')", OWN),
    ("import importlib\nkit = importlib.import_module(os.environ['KIT'])\nmodel = kit.prepare(kit.Tied())", ""),
]


def test_all_is_said_where_the_helper_is_seen() -> None:
    assert analyse(main(f"model = prepare(Tied())\n{AGAIN}{STEPS}", OWN)).codes == FAULTS


@pytest.mark.parametrize(("made", "helpers"), HIDDEN)
def test_nothing_is_upheld_where_it_is_not(made: str, helpers: str) -> None:
    seen = analyse(main(f"{made}\n{AGAIN}{STEPS}", helpers))
    assert upheld(seen, FAULTS) == []
