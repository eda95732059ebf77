"""What a load is to fill, as a job finds it."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from fsdp2_lint.runtime.monitors.checkpoints.payloads import RuntimePayload


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ({}, "an empty dict"),
        ({"model": {}}, "nothing but empty dicts"),
        ({"model": {}, "optimizer": {"state": {}}}, "nothing but empty dicts"),
        ({"model": {"weight": torch.zeros(1)}}, ""),
        ({"model": {}, "step": 3}, ""),
    ],
)
def test_empty_dicts(target: dict[str, Any], words: str) -> None:
    answer = RuntimePayload(target).receives_nothing()
    assert (answer.what if answer.surely else "") == words
