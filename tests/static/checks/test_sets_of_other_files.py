"""FSDP806 of a set that a file fills which has nothing to do with torch."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

NAMES = """\
class Names:
    def __init__(self):
        self.touched: set[str] = set()

    def add(self, **values):
        for name in values:
            self.touched.add(name)
"""
MAIN = """
dist.init_process_group("nccl")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
names, sums = Names(), {"loss": torch.zeros(()), "norm": torch.zeros(())}
for step in range(9):
    names.add(loss=1, norm=2)
    for name in NAMES:
        dist.all_reduce(sums[name])
"""


@pytest.mark.parametrize(("names", "found"), [("names.touched", True), ("sorted(names.touched)", False)])
def test_a_set_of_strings(names: str, found: bool) -> None:
    files = {"train.py": script(MAIN.replace("NAMES", names), "from names import Names"), "names.py": NAMES}
    assert ("FSDP806" in analyse(files).codes) is found
