"""A process that checks again and again, as a server does, keeps nothing of the programs that it has followed."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from fsdp2_lint.static import following, garbage
from tests.locks.every_file import trouble

SCRIPT = b"""\
import torch
from torch.distributed.fsdp import fully_shard
model = torch.nn.Linear(4, 4)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
"""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[weakref.ref[Any]]:
    found: list[weakref.ref[Any]] = []

    class Watched(following.Interpreter[Any]):
        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **options)
            found.append(weakref.ref(self))

    monkeypatch.setattr(following, "Interpreter", Watched)
    return found


def test_many_small_runs_are_collected_as_a_long_one_is(
    made: list[weakref.ref[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(garbage, "_WORTH", 40)  # steps: a few runs
    gc.disable()  # what Python does by itself depends on all that ran before
    try:
        for _ in range(12):
            assert trouble(["/nowhere/train.py"], {"/nowhere/train.py": SCRIPT}) == []
    finally:
        gc.enable()
    assert len(made) == 12
    assert sum(each() is not None for each in made) < 6
