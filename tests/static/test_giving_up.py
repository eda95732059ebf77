"""A run ends soon when nobody waits for it any more, wherever it is; what it has seen by then is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.lint import lint
from fsdp2_lint.static import following, workers
from fsdp2_lint.static.domain.trace import PAUSE, Trace
from fsdp2_lint.static.interpreter.machine import LOOK

SCRIPT = """\
import torch
from torch.distributed.fsdp import fully_shard

model = torch.nn.Linear(4, 4)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
"""
LONG = SCRIPT + "x = 0\n" + "x += len(str(x))\n" * 500


class Nobody(BaseException):
    """Who asked is gone."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "a.py").write_text(SCRIPT)
    (tmp_path / "b.py").write_text(LONG)
    return tmp_path


def telling(told: list[str]) -> Callable[[str], None]:
    """Takes note of the programs; the stages around them have names of their own."""

    def progress(name: str) -> None:
        if name.endswith(".py"):
            told.append(Path(name).name)

    return progress


def run(project: Path, look: Callable[[], None]) -> list[str]:
    """The programs that were followed."""
    told: list[str] = []
    try:
        lint([str(project)], Asked(cache=True), progress=telling(told), look=look)
    except Nobody:
        told.append("given up")
    return told


def test_it_is_asked_inside_a_program(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At least every so many steps."""
    steps: list[int] = []
    asked: list[None] = []

    def counted(*arguments: Any, **more: Any) -> following.Followed:
        asked.clear()
        followed = following.follow(*arguments, **more)
        assert len(asked) >= followed.steps // LOOK
        steps.append(followed.steps)
        return followed

    monkeypatch.setattr(workers, "follow", counted)
    assert run(project, lambda: asked.append(None)) == ["a.py", "b.py"] and max(steps) > 4 * LOOK


@pytest.mark.parametrize("times", [1, 2, 3])
def test_it_ends_there_and_the_next_run_goes_on(project: Path, times: int) -> None:
    inside: list[int] = []
    told: list[str] = []

    def look() -> None:
        """Nobody waits any more, once the second program is followed."""
        inside.extend([1] if "b.py" in told else [])
        if len(inside) == times:
            raise Nobody

    with pytest.raises(Nobody):
        lint([str(project)], Asked(cache=True), progress=telling(told), look=look)
    assert told == ["a.py", "b.py"] and len(inside) == times, "it was asked no more after that"
    assert run(project, lambda: None) == ["b.py"], "the first program is kept"
    assert run(project, lambda: None) == [] == run(project, lambda: None)


def test_it_ends_before_any_program_is_followed(project: Path) -> None:
    def look() -> None:
        raise Nobody

    assert run(project, look) == ["given up"]
    assert run(project, lambda: None) == ["a.py", "b.py"]


def test_it_is_asked_while_rules_ask() -> None:
    trace, asked = Trace(), [0]

    def pause() -> None:
        asked[0] += 1

    with trace.bounded(100 * PAUSE, pause):
        for _ in range(20):
            trace.look(PAUSE)
    assert 10 <= asked[0] <= 20
    trace.look(PAUSE)
    assert asked[0] <= 20, "only inside"
