"""The plugin for pytest, in a run of pytest of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("torch")

pytestmark = pytest.mark.torchrun

ROOT = Path(__file__).parents[2]
TESTS = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard


class Net(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.first, self.second = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        return self.second(self.first(x))


def train(dim, early):
    torch.manual_seed(0)
    model = Net(dim)
    if early:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    fully_shard(model.first)
    fully_shard(model)
    if not early:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2):
        torch.manual_seed(10 * step + dist.get_rank())
        model(torch.randn(4, dim)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return dist.get_world_size() * dim


def break_down():
    raise OSError("no data")


def test_clean(fsdp2_run):
    run = fsdp2_run(train, 8, False, world_size=1)
    run.assert_clean()
    assert run.results == [8]


def test_faulty(fsdp2_run):
    fsdp2_run(train, 8, True, world_size=1).assert_clean()


def test_ignored(fsdp2_run):
    fsdp2_run(train, 8, True, world_size=1, ignore=("FSDP601",)).assert_clean()


def test_broken(fsdp2_run):
    fsdp2_run(break_down, world_size=1).assert_clean()
"""
# One rank, as long as two may end with a broken connection: see test_exchange_without_a_store in test_api.py.
EARLY = TESTS.splitlines().index("        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)") + 1


def run_pytest(folder: Path, *options: str, command: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    environment.pop("PYTEST_ADDOPTS", None)
    command = [*(command or (sys.executable, "-m", "pytest")), "-p", "fsdp2_lint.pytest_plugin", "-q", "-rA", *options]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("project")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_training.py").write_text(TESTS)
    return folder, run_pytest(folder)


@pytest.mark.slow
def test_results(ran: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    output = ran[1].stdout
    passed = {line.split("::")[1] for line in output.splitlines() if line.startswith("PASSED")}
    failed = {line.split("::")[1].split(" ")[0] for line in output.splitlines() if line.startswith("FAILED")}
    assert (passed, failed, ran[1].returncode) == ({"test_clean", "test_ignored"}, {"test_faulty", "test_broken"}, 1)


@pytest.mark.slow
def test_text_of_the_finding(ran: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, done = ran
    told = [line.removeprefix("E").strip() for line in done.stdout.splitlines() if line.startswith("E ")]
    assert (
        f"AssertionError: {folder}/test_training.py:{EARLY}: FSDP601 error the optimizer is built before fully_shard "
        "replaces the parameters of Net: they never train [optimizer-before-sharding]"
    ) in told
    assert "help: build the optimizer, and every list of parameters for it, after the last fully_shard" in told


@pytest.mark.slow
def test_traceback_of_the_rank(ran: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    assert "AssertionError: rank 0 failed:" in ran[1].stdout
    assert "OSError: no data" in ran[1].stdout


def test_torch_is_imported_where_a_test_asks_for_it(tmp_path: Path) -> None:
    """Whoever has the package installed must not pay seconds in every run of pytest."""
    (tmp_path / "test_plain.py").write_text("import sys\n\n\ndef test():\n    assert 'torch' not in sys.modules\n")
    done = run_pytest(tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_importlib_mode(tmp_path: Path) -> None:
    """The mode that pytest recommends for new projects. `python -m pytest` would put the folder on the path."""
    executable = Path(sys.executable).with_name("pytest")
    (tmp_path / "tests").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "tests" / "test_training.py").write_text(TESTS)
    done = run_pytest(tmp_path, "--import-mode=importlib", "-k", "clean", command=[str(executable)])
    assert done.returncode == 0, done.stdout
