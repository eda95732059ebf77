"""The thread that looks where the training stands leaves no trace in it."""

from __future__ import annotations

import threading
import weakref

import pytest

pytest.importorskip("torch")

import torch

from fsdp2_lint.report.rank_file import Unwritten
from fsdp2_lint.runtime.hangs.stall import StallWatch
from fsdp2_lint.runtime.session import Options, Session


def test_what_the_script_gives_up_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while a look goes on that began when a function had it in hand."""
    seen, over = threading.Event(), threading.Event()

    def groups(watch: StallWatch) -> list[object]:
        seen.set()
        over.wait(60)
        return []

    monkeypatch.setattr(StallWatch, "_groups", groups)
    watch = StallWatch(Session(Unwritten(), Options()))
    looking = threading.Thread(target=watch._look, args=(0.0,))

    def forward() -> weakref.ref[torch.nn.Module]:
        model = torch.nn.Linear(2, 2)
        looking.start()
        assert seen.wait(60)
        return weakref.ref(model)

    try:
        assert forward()() is None
    finally:
        over.set()
        looking.join()
    assert watch._stands["by"]
