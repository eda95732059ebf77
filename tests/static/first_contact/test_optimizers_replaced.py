"""Optimizers that gave way to another one before anything was sharded, where no step was seen."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

LEARNER = """
class Learner:
    def __init__(self):
        self.net = Net()
        self.optimizer = torch.optim.Adam(self.net.parameters())  # first

    def grow(self):
        self.extra = nn.Linear(8, 8)
        {grow}

    def rebuilt(self):
        return torch.optim.Adam([*self.net.parameters(), *self.extra.parameters()])  # last

def build():
    {build}
    fully_shard(learner.net)
    return learner
"""
ONE = "learner = Learner()\n    learner.grow()"
REPLACED = {
    "at once": ("self.optimizer = self.rebuilt()", ONE),
    "where it may fail": (
        "try:\n            self.optimizer = self.rebuilt()\n        except ValueError:\n            pass",
        ONE,
    ),
    "on each of several": (
        "self.optimizer = self.rebuilt()",
        "pair = Learner(), Learner()\n    for learner in pair:\n        learner.grow()",
    ),
    "by name": ("setattr(self, 'optimizer', self.rebuilt())", ONE),
}
KEPT = {
    "not replaced": ("pass", ONE),
    "next to another": ("self.other = self.rebuilt()", ONE),
    "it steps all the same": (
        "self.first = self.optimizer\n        self.optimizer = self.rebuilt()",
        ONE,
        "first.step()",
    ),
}


def rows(grow: str, build: str, then: str = "net") -> tuple[list[int], dict[str, int]]:
    program = script(f"build().{then}", LEARNER.format(grow=grow, build=build))
    marked = {line.partition("# ")[2]: row for row, line in enumerate(program.splitlines(), 1) if "# " in line}
    found = analyse(program).result.findings
    told = [label.site.row for each in found if each.code == "FSDP601" for label in (each.primary, *each.related)]
    return told, marked


@pytest.mark.parametrize("case", REPLACED)
def test_the_one_that_took_its_place_is_judged(case: str) -> None:
    found, marked = rows(*REPLACED[case])
    assert marked["first"] not in found and marked["last"] in found


@pytest.mark.parametrize("case", KEPT)
def test_one_that_is_still_there_is_judged(case: str) -> None:
    found, marked = rows(*KEPT[case])
    assert marked["first"] in found
