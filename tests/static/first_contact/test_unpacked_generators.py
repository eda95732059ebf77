"""``student, teacher = (Net() for _ in names)``: what a generator expression gives for each of some known elements."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

BODY = """
{makes}
{early}
for layer in student.layers:
    fully_shard(layer)
fully_shard(student)
optimizer = optimizer if {given} else torch.optim.AdamW(student.parameters())
student(torch.ones(2, 8, dtype=torch.long)).sum().backward()
optimizer.step()
"""
EARLY = "optimizer = torch.optim.AdamW({of}.parameters())"


def _codes(makes: str, early: str) -> list[str]:
    return analyse(main(BODY.format(makes=makes, early=early, given=bool(early)))).codes


@pytest.mark.parametrize("makes", [
    "student, teacher = (Net() for _ in ('a', 'b'))",
    "student, teacher = (each.cuda() for each in [Net().to('meta').to_empty(device='cpu'), Net()])",
    "pair = (Net(), Net())\nstudent, teacher = (each.train() for each in pair)",
])  # fmt: skip
def test_each_name_is_an_object_of_its_own(makes: str) -> None:
    assert "FSDP601" in _codes(makes, EARLY.format(of="student"))
    assert "FSDP601" not in _codes(makes, EARLY.format(of="teacher"))
    assert "FSDP601" not in _codes(makes, "")


@pytest.mark.parametrize("makes", [
    "pair = (Net(), Net(), Net())\nstudent, teacher = (each for each in pair if each in theirs)",
    "student, teacher = (one for one in theirs for each in one)",
])  # fmt: skip
def test_which_one_it_is_may_be_open(makes: str) -> None:
    made = f"from theirs import theirs\n{makes}"
    assert "FSDP601" not in _codes(made, EARLY.format(of="teacher"))
