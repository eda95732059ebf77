"""Runs the command line in this process, with a stand-in for the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fsdp2_lint.cli import invoke
from fsdp2_lint.static.cache import store
from fsdp2_lint.static.cache.store import Store
from tests import fake

CANDIDATE = "from torch.distributed.fsdp import fully_shard\n\noptimizer = make()\nfully_shard(model)\n"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs a command in this process. Nothing is kept from one to the next but in a folder that a test names."""
    monkeypatch.setattr(store, "default_store", lambda root, folder: Store(Path(folder)) if folder else None)

    def call(*arguments: object) -> Ran:
        code = invoke([str(each) for each in arguments])
        captured = capfd.readouterr()
        assert "Traceback" not in captured.err
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> fake.Engine:
    return fake.install(monkeypatch)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: one file with FSDP2, one without."""
    (tmp_path / "train.py").write_text(CANDIDATE)
    (tmp_path / "plain.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path
