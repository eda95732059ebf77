"""FSDP806: sets of names that operators change in place are gone through in no order."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

CLASS = """
class Journal:
    def __init__(self):
        self.names, self.sums = set(), {}

    def note(self, **values):
        CHANGE
        self.sums.update(values)

    def flush(self):
        for name in ORDER:
            dist.all_reduce(self.sums[name])
"""
MAIN = """
dist.init_process_group("nccl")
model = Net()
fully_shard(model)
journal = Journal()
for batch in batches():
    loss = model(batch).sum()
    loss.backward()
    journal.note(loss=loss.detach(), twice=loss.detach() * 2)
    journal.flush()
"""


def verdicts(change: str, order: str) -> set[str]:
    text = script(MAIN, CLASS.replace("CHANGE", change).replace("ORDER", order))
    return analyse(text).verdicts("FSDP806")


@pytest.mark.parametrize("change", ["self.names |= values.keys()", "self.names |= set(values)"])
def test_what_is_put_in(change: str) -> None:
    assert verdicts(change, "self.names") == {"violated"}
    assert "violated" not in verdicts(change, "sorted(self.names)")


@pytest.mark.parametrize("op", ["&=", "^="])
def test_what_else_changes_a_set(op: str) -> None:
    assert verdicts(f"self.names {op} values.keys()", "self.names") == {"unknown"}
