"""Which parameters have what a call passes on, by what is written: decorators are not followed for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.static.checks.ranks.carrying import Carried, parameters
from fsdp2_lint.static.frontend.project import Project

CODE = """
class Log:
    {decorator}
    def write(self_or_name, size, *rest):
        pass


log.write(own, 1)
"""


@pytest.mark.parametrize(
    ("decorator", "has"),
    [
        ("@rank_zero", "size"),  # a name that nobody binds here
        ("@ranks.only(0)", "size"),
        ("@classmethod", "size"),
        ("@staticmethod", "self_or_name"),
    ],
)
def test_whether_the_object_is_among_the_parameters(decorator: str, has: str) -> None:
    module = Project(Path("."), {"m.py": CODE.format(decorator=decorator).encode()}).module("m.py")
    assert module is not None
    function, call = module.tree.body[0].body[0], module.tree.body[1].value
    assert parameters(function, call, Carried(frozenset({"own"}))).names == {has}
