"""Settings of a project, and the torch that it targets: flag, setting, pin, newest."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.cli import invoke
from fsdp2_lint.errors import BadSetting
from fsdp2_lint.lint import Asked, lint
from fsdp2_lint.settings import Settings, settings
from fsdp2_lint.static.pins import pinned_torch
from fsdp2_lint.vocab.target import NEWEST, about_root, parse

PROGRAM = "from torch.distributed._composable.fsdp import fully_shard\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n')
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[tool.fsdp2-lint]\ntarget-torch = "2.8"\n'),
        ("fsdp2-lint.toml", 'target-torch = "2.8.1"\n'),
        ("../fsdp2-lint.toml", 'target-torch = "2.8"\n'),
    ],
)
def test_where_settings_are(project: Path, name: str, text: str) -> None:
    inner = project / "inner"
    inner.mkdir()
    (inner / name).write_text(text)
    assert settings(str(inner)) == Settings(target_torch=(2, 8))


def test_the_nearest_folder_counts_alone(project: Path) -> None:
    inner = project / "inner"
    inner.mkdir()
    (project / "fsdp2-lint.toml").write_text('target-torch = "2.6"\n')
    assert settings(str(inner)).target_torch == (2, 6)
    (inner / "pyproject.toml").write_text("[tool.fsdp2-lint]\n")
    assert settings(str(inner)) == Settings()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('target_torch = "2.8"\n', "unknown setting 'target_torch'; did you mean target-torch?"),
        ("zzz = 1\n", "unknown setting 'zzz' (known: select, extend-select, "),
        ("target-torch = 2.10\n", 'target-torch: has to be text, such as "2.8", and is 2.1'),
        ('target-torch = "newest"\n', "target-torch: 'newest' is no version of torch, such as 2.8"),
        ("target-torch = \n", "Invalid value"),
    ],
)
def test_what_is_wrong_is_said(project: Path, text: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "fsdp2-lint.toml").write_text(text)
    with pytest.raises(BadSetting) as raised:
        settings(str(project))
    assert words in str(raised.value)
    assert invoke(["check", str(project)]) == 2
    assert f"error: {project / 'fsdp2-lint.toml'}: " in capsys.readouterr().err


def test_the_tables_of_other_tools_are_their_affair(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.ruff\n")
    assert settings(str(project)) == Settings()
    (project / "pyproject.toml").write_text("[tool]\nfsdp2-lint = 1\n")
    with pytest.raises(BadSetting, match=r"tool.fsdp2-lint has to be a table"):
        settings(str(project))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("torch==2.6.0\n", (2, 6)),
        ("torch == 2.5.1+cu121\nnumpy\n", (2, 5)),
        ("torch~=2.7.0\n", (2, 7)),
        ("torch~=2.7\n", None),
        ("torch>=2.6\n", None),
        ("torchvision==0.21\npytorch-lightning==2.5\n", None),
    ],
)
def test_exact_pins(tmp_path: Path, text: str, found: tuple[int, int] | None) -> None:
    (tmp_path / "requirements.txt").write_text(text)
    assert pinned_torch(tmp_path) == found


def test_pins_that_disagree_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\n")
    (tmp_path / "requirements-dev.txt").write_text("torch==2.8.0\n")
    assert pinned_torch(tmp_path) is None


def test_flag_before_setting_before_pin(project: Path) -> None:
    assert lint([str(project)]).target == NEWEST
    (project / "requirements.txt").write_text("torch==2.5.1\n")
    pinned = lint([str(project)])
    assert (pinned.target, pinned.findings) == ((2, 5), []), "torch 2.5 has the private path only"
    (project / "fsdp2-lint.toml").write_text('target-torch = "2.6"\n')
    stated = lint([str(project)])
    assert (stated.target, [each.code for each in stated.findings]) == ((2, 6), ["FSDP901"])
    given = lint([str(project)], Asked(target=(2, 4)))
    assert (given.target, given.findings) == ((2, 4), [])


def test_the_flag(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["check", "--target-torch", "2.5", str(project)]) == 0
    assert invoke(["check", "--target-torch", "2.13", str(project)]) == 1
    capsys.readouterr()
    assert invoke(["check", "--target-torch", "two", str(project)]) == 2
    assert "'two' is no version of torch, such as 2.8" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["2.13", "2.13.0", "2.13.0+cpu", "2.13.0a0+git123", "2.13rc1", " 2.13 "])
def test_versions(text: str) -> None:
    assert parse(text) == (2, 13)


def test_findings_speak_of_the_target() -> None:
    assert about_root((2, 8)) == ""
    assert about_root((2, 7)) == "; torch 2.7 ignores reshard_after_forward=True on the root"


def test_what_is_meant_is_not_reported(project: Path) -> None:
    """ZeRO-2 on purpose: nothing else could tell that from a mistake."""
    (project / "train.py").write_text(ZERO2)
    assert [finding.code for finding in lint([str(project)]).findings] == ["FSDP312"]
    (project / "fsdp2-lint.toml").write_text("zero2 = true\n")
    assert lint([str(project)]).findings == []
    (project / "fsdp2-lint.toml").write_text("zero2 = 2\n")
    with pytest.raises(BadSetting, match="zero2: has to be true or false"):
        lint([str(project)])


ZERO2 = """\
import torch.nn as nn
from torch.distributed.fsdp import fully_shard


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def main():
    model = Net()
    for block in model.blocks:
        fully_shard(block, reshard_after_forward=False)
    fully_shard(model)


main()
"""
