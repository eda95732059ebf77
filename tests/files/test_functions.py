"""Functions of a file by name, and which are empty."""

from __future__ import annotations

import pytest

from fsdp2_lint.files.functions import empty, in_text

TEXT = b"""
class Trainer:
    def fit(self):
        def inner(): ...
        return inner

    async def stop(self):
        "does nothing"
        return None

if True:
    def late(): pass
"""


def test_names() -> None:
    found = in_text(TEXT)
    assert [*found] == ["Trainer.fit", "Trainer.fit.inner", "Trainer.stop", "late"]
    assert [name for name, node in found.items() if empty(node)] == ["Trainer.fit.inner", "Trainer.stop", "late"]


@pytest.mark.parametrize("data", [b"def", b"\0", b"# coding: nothing\n", b"-" * 100_000 + b"1"])
def test_what_is_no_python_has_none(data: bytes) -> None:
    assert in_text(data) == {}
