"""Rules in shapes that their pages do not have: the fault on its row, and not a word on what looks like it."""

from __future__ import annotations

import pytest

from tests.static.program import analyse
from tests.static.shapes.projects import PROJECTS, Shape, shapes

EVERY = [pytest.param(shape, id=f"{shape.code}-{shape.name}") for shape in shapes()]


@pytest.mark.parametrize("shape", EVERY)
def test_each_is_told_where_it_is(shape: Shape) -> None:
    found = [(name, row) for code, name, row in analyse(shape.files, torch=shape.torch).found if code == shape.code]
    assert found == shape.marked
    assert shape.correct is not bool(shape.marked)


def test_a_rule_has_two_faults_and_three_programs_that_look_like_them() -> None:
    kinds = [(shape.code, shape.correct) for shape in shapes()]
    for code in {code for code, _ in kinds}:
        assert kinds.count((code, False)) >= 2 and kinds.count((code, True)) >= 3, code


@pytest.mark.parametrize("name", PROJECTS)
def test_without_an_edit_nothing_is_said(name: str) -> None:
    assert not analyse(PROJECTS[name]).codes
