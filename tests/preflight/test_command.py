"""`fsdp2-lint preflight` as users start it: exit codes, and what is said where."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("torch")

from fsdp2_lint.cli import invoke

pytestmark = pytest.mark.torchrun
HEAD = """\
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).cuda()
"""
SHARDED = HEAD + "fully_shard(model)\n"
BUILT = "optimizer = torch.optim.AdamW(model.parameters())\n"
LOOP = """\
for _ in range(50):
    model(torch.randn(4, 8, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
TRAINED = SHARDED + BUILT + LOOP
STALE = HEAD + BUILT + "fully_shard(model)\n" + LOOP


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def preflight(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """The command in the folder of a test, where ``train.py`` has the text that is given first."""
    monkeypatch.chdir(tmp_path)

    def call(text: str, *arguments: str) -> Ran:
        (tmp_path / "train.py").write_text(text, encoding="utf-8")
        code = invoke(["preflight", *arguments])
        told = capfd.readouterr()
        assert "Traceback" not in told.out + told.err
        return Ran(code, told.out, told.err)

    return call


def test_what_is_right_ends_with_the_plan(preflight: Callable[..., Ran], tmp_path: Path) -> None:
    ran = preflight(TRAINED, "--ranks", "0", "--json", "job.json", "train.py")
    assert ran.code == 0 and "8 ranks, of which rank 0 ran here" in ran.out
    assert "it was left after 2 steps" in ran.out and "No findings on 1 rank rehearsed of 8 in 2" in ran.err
    told = json.loads((tmp_path / "job.json").read_text(encoding="utf-8"))
    assert [size["world_size"] for size in told["sizes"]] == [8] and told["findings"] == []
    assert told["sizes"][0]["state"]["parameters"] == 2 * (8 * 8 + 8) * 4 // 8


def test_what_is_found_is_data_on_stdout(preflight: Callable[..., Ran]) -> None:
    ran = preflight(STALE, "--ranks", "0", "--world-size", "8,16", "--output-format", "json", "train.py")
    assert ran.code == 1
    found = json.loads(ran.out)
    findings = found["findings"] if isinstance(found, dict) else found
    assert [(each["code"], each["location"]["row"]) for each in findings] == [("FSDP601", 11)]  # once, at both sizes


def test_a_finding_of_the_source_is_confirmed(
    preflight: Callable[..., Ran], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert preflight(STALE, "--world-size", "1024", "--ranks", "0,1", "train.py").code == 1
    assert invoke(["check", "--output-format", "json", "--confirm", "fsdp2-lint-report", "."]) == 1
    found = json.loads(capfd.readouterr().out)
    findings = found["findings"] if isinstance(found, dict) else found
    assert [(each["code"], each["standing"]) for each in findings] == [
        ("FSDP601", "confirmed in a rehearsal of 1,024 ranks")
    ]


def test_a_verdict_of_the_source_is_settled(
    preflight: Callable[..., Ran], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Which dtypes meet in a group shows at its first forward, where the source leaves them to the environment."""
    chosen = TRAINED.replace("fully_shard(model)", 'if os.environ.get("LOW"):\n    model[0].half()\nfully_shard(model)')
    assert preflight(chosen, "--depth", "plan", "--ranks", "0,1", "train.py").code == 0
    assert invoke(["contract", "."]) in (0, 1)
    assert "settled by: the rehearsal" not in capfd.readouterr().out
    assert invoke(["contract", "--confirm", "fsdp2-lint-report", "."]) in (0, 1)
    told = capfd.readouterr().out
    assert "upheld   FSDP314" in told and "settled by: the rehearsal (0 steps, ranks 0-1)" in told


def test_scripts_of_the_settings(preflight: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "fsdp2-lint.toml").write_text('rehearsals = ["train.py --lr 1"]\n', encoding="utf-8")
    ran = preflight(SHARDED + "model(torch.randn(4, 8).cuda())\n", "--depth", "plan", "--ranks", "0")
    assert ran.code == 0 and "train.py --lr 1 (rehearsed: plan)" in ran.out


STOPS = {
    "a package that is not there": ("import nowhere_to_be_found\n", "No module named 'nowhere_to_be_found'", 1),
    "an error of the script": (SHARDED + "raise ValueError('no data here')\n", "ValueError: no data here", 12),
    "an end of its own": (SHARDED + "raise SystemExit('no data here')\n", "no data here", 12),
}


@pytest.mark.parametrize("name", STOPS)
def test_what_cannot_be_rehearsed_is_said_with_its_line(name: str, preflight: Callable[..., Ran]) -> None:
    text, why, row = STOPS[name]
    ran = preflight(text, "--ranks", "0", "train.py")
    assert ran.code == 3 and why in ran.err and f"train.py:{row}:" in ran.err
    assert ran.err.count(why) == 1


def test_a_script_without_fsdp2_is_not_checked(preflight: Callable[..., Ran]) -> None:
    ran = preflight("print('hello')\n", "--ranks", "0", "train.py")
    assert ran.code == 3 and "no fully_shard was seen" in ran.err


BAD = {
    "no script": ([], "no script is named"),
    "no such script": (["gone.py"], "gone.py: no such file"),
    "no such rank": (["--ranks", "8", "train.py"], "has ranks 0 to 7"),
    "no number": (["--world-size", "8,x", "train.py"], "numbers of 1 or more"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_usage(name: str, preflight: Callable[..., Ran]) -> None:
    arguments, why = BAD[name]
    ran = preflight(SHARDED, *arguments)
    assert ran.code == 2 and why in ran.err and not ran.out


SAVING = """\
if dist.get_rank() == 0:
    os.makedirs("checkpoints/1", exist_ok=True)
    os.makedirs("logs")
    open("logs/rank0.txt", "w").close()
    torch.save(model.state_dict(), "checkpoints/1/model.pt")
"""


def test_folders_for_what_is_not_written_do_not_stay(preflight: Callable[..., Ran], tmp_path: Path) -> None:
    """The ranks after the first one, and the job that comes later, would take them for a checkpoint."""
    ran = preflight(TRAINED.replace("range(50)", "range(2)") + SAVING, "--ranks", "0,1", "train.py")
    assert "torch.save writes no file" in ran.out
    assert not (tmp_path / "checkpoints").exists() and (tmp_path / "logs" / "rank0.txt").exists()


def test_the_cause_of_an_error_is_told(preflight: Callable[..., Ran]) -> None:
    text = "try:\n    import not_there\nexcept ImportError as error:\n    raise RuntimeError('no data') from error\n"
    ran = preflight(text, "--ranks", "0", "train.py")
    assert ran.code == 3
    assert "train.py:4: RuntimeError: no data (from ModuleNotFoundError: No module named 'not_there')" in ran.err
