"""Python as people write it: a fault is found through each construct, and its correct twin is clean.

One text holds both programs. Lines that end in ``#-`` are in the faulty one only, those that
end in ``#+`` in the correct one only; ``# HERE`` marks a place that the finding must name.
"""

from __future__ import annotations

import re

import pytest

from tests.static.program import HEAD, NET, analyse, script

from .constructs import PAIRS

TOOLS = """
def shard(model):
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)


def train(model, optimizer):
    for _ in range(3):
        model(torch.ones(2)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
"""
SECTION = re.compile(r"^=== (\w+): (.*)$", re.MULTILINE)


def pairs(*, marked: bool = True) -> list[object]:
    parts = SECTION.split(PAIRS)[1:]
    found = []
    for code, title, text in zip(parts[::3], parts[1::3], parts[2::3]):
        title, _, why = title.partition(" !! ")
        marks = [pytest.mark.xfail(strict=True, reason=why)] if why and marked else []
        found.append(pytest.param(code, text.strip("\n"), id=f"{code}-{title}", marks=marks))
    return found


def variant(text: str, drop: str) -> str:
    kept = [line for line in text.splitlines() if not line.rstrip().endswith(drop)]
    return f"{HEAD}\n{NET}\n{TOOLS}\n" + "\n".join(kept) + "\n"


@pytest.mark.parametrize(("code", "text"), pairs())
def test_the_fault_is_found_and_its_twin_is_clean(code: str, text: str) -> None:
    good = analyse(variant(text, "#-"))
    assert good.codes == []
    assert not good.result.out_of_budget and not good.result.problems
    faulty = variant(text, "#+")
    seen = analyse(faulty)
    assert set(seen.codes) == {code}
    rows = {site.row for finding in seen.result.findings for site in finding.sites}
    here = [row for row, line in enumerate(faulty.splitlines(), 1) if "# HERE" in line]
    assert here and set(here) <= rows


@pytest.mark.parametrize(("code", "text"), pairs(marked=False))
def test_every_pair_is_python(code: str, text: str) -> None:
    for drop in "#-", "#+":
        compile(variant(text, drop), "train.py", "exec")
    assert variant(text, "#-") != variant(text, "#+")


def test_an_object_that_new_makes_has_the_methods_of_its_class() -> None:
    trainer = "class Base:\n    def setup(self):\n        self.model = Net()\n        fully_shard(self.model)\n\n\n"
    trainer += "class Trainer:\n    def __init__(self):\n        self.base = Base.__new__(Base)\n"
    trainer += "        self.base.setup()\n\n\n"
    main = "trainer = Trainer()\ntrainer.base.model.forward(torch.ones(2, 8))\n"
    assert "FSDP401" in analyse(script(main, trainer)).codes


def test_the_step_of_an_optimizer_of_the_project_is_a_step() -> None:
    optimizer = (
        "class Own(torch.optim.Optimizer):\n    def __init__(self, params):\n        super().__init__(params, {})\n\n"
    )
    optimizer += "    def step(self, closure=None):\n        raise NotImplementedError\n\n\n"
    main = "model = Net()\noptimizer = Own(model.parameters())\nfully_shard(model)\n"
    main += "model(torch.ones(2, 8)).sum().backward()\noptimizer.step()\nmodel.forward(torch.ones(2, 8))\n"
    assert {"FSDP601", "FSDP401"} <= set(analyse(script(main, optimizer)).codes)
