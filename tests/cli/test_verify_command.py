"""``fsdp2-lint verify``: exit codes, output, and what it refuses to read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran

Cli = Callable[..., Ran]
EXAMPLE = Path(__file__).parents[2] / "examples" / "broken" / "direct_forward"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    assert cli("check", "--output-format", "json", "-o", "before.json").code == 1
    return tmp_path / "trainer.py"


def test_remaining(cli: Cli, script: Path) -> None:
    ran = cli("verify", "--since", "before.json")
    assert ran.code == 1 and ran.out.startswith("remaining trainer.py:") and "FSDP401" in ran.out
    assert ran.err == "1 remaining.\n"
    assert cli("verify", "--since", "before.json", "--exit-zero").code == 0


def test_fixed(cli: Cli, script: Path) -> None:
    script.write_text(script.read_text().replace("model.forward(", "model("))
    ran = cli("verify", "--since", "before.json")
    assert ran.code == 0 and ran.out.startswith("fixed     trainer.py:") and "(not found any more" in ran.out
    assert ran.err == "1 fixed.\n"


def test_for_programs(cli: Cli, script: Path) -> None:
    script.write_text(script.read_text().replace("  # error: [FSDP401]", "  # noqa: FSDP401"))
    ran = cli("verify", "--since", "before.json", "--output-format", "json", "-o", "after.json")
    held = json.loads(Path("after.json").read_text())
    assert (ran.code, ran.out, held["clean"]) == (1, "", False)
    assert [len(held[key]) for key in ("fixed", "remaining", "silenced", "removed", "new")] == [0, 0, 1, 0, 0]
    assert held["silenced"][0]["reasons"] == ["a comment silences it"]


def test_a_file_that_does_not_parse_any_more_proves_nothing(cli: Cli, script: Path) -> None:
    (script.parent / "train.py").write_text((script.parent / "train.py").read_text() + "def\n")
    ran = cli("verify", "--since", "before.json")
    assert ran.code == 1 and "new       train.py:" in ran.out and "FSDP000" in ran.out


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"code": "FSDP601"}]', "nothing", '{"clean": true}'])
def test_what_was_not_written_by_check(cli: Cli, script: Path, text: str) -> None:
    Path("before.json").write_text(text)
    ran = cli("verify", "--since", "before.json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: before.json: does not hold what `check --output-format json` prints\n"


def test_a_file_that_is_not_there(cli: Cli, script: Path) -> None:
    ran = cli("verify", "--since", "nowhere.json")
    assert (ran.code, ran.err) == (2, "error: nowhere.json: cannot be read: No such file or directory\n")
    assert cli("verify").code == 2
