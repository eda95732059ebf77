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
    assert ran.code == 0 and ran.out.startswith("gone      trainer.py:")
    assert "(not proved, but no less is seen than before: nothing is left there that its rule judges)" in ran.out
    assert ran.err == "1 gone, not proved.\n"


def test_out_of_sight(cli: Cli, script: Path) -> None:
    script.write_text(script.read_text().replace("self.model.forward(", "eval('self.model').forward("))
    ran = cli("verify", "--since", "before.json")
    assert ran.code == 1 and "eval" in ran.out and "fixed" not in ran.out
    assert ran.err == "1 gone from sight.\n"


def test_proved(cli: Cli, script: Path) -> None:
    train = script.parent / "train.py"
    late, early = "    parallelize(model, mesh)\n", "    trainer = Trainer(model, device)\n"
    text = train.read_text().replace("    Trainer(model, device).train", "    trainer.train")
    assert late in text
    script.write_text(script.read_text().replace("model.forward(", "model("))
    train.write_text(text.replace(late, early + late))
    assert cli("check", "--output-format", "json", "-o", "before.json").code == 1
    train.write_text(text.replace(late, late + early))
    ran = cli("verify", "--since", "before.json")
    assert ran.code == 0 and ran.out.startswith("fixed     train.py:") and "FSDP601" in ran.out
    assert ran.out.endswith("(the rule is upheld)\n") and ran.err == "1 fixed.\n"


def test_for_programs(cli: Cli, script: Path) -> None:
    script.write_text(script.read_text().replace("  # error: [FSDP401]", "  # noqa: FSDP401"))
    ran = cli("verify", "--since", "before.json", "--output-format", "json", "-o", "after.json")
    held = json.loads(Path("after.json").read_text())
    assert (ran.code, ran.out, held["clean"]) == (1, "", False)
    assert [len(held[key]) for key in ("fixed", "gone", "remaining", "silenced", "removed", "new")] == [
        0,
        0,
        0,
        1,
        0,
        0,
    ]
    assert held["silenced"][0]["reasons"] == ["a comment silences it"]


def test_of_another_copy(cli: Cli, script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Path(shutil.copytree(tmp_path, tmp_path.parent / f"{tmp_path.name}-copy"))
    monkeypatch.chdir(other)
    ran = cli("verify", "--since", "before.json")
    assert ran.code == 1 and ran.out.startswith("remaining trainer.py:")
    assert ran.err == f"1 remaining. The findings are of another copy, {tmp_path}.\n"
    told = json.loads(cli("verify", "--since", "before.json", "--output-format", "json").out)
    assert told["copy_of"] == str(tmp_path) and told["remaining"][0]["project"]["folder"] == str(other)
    (other / "pyproject.toml").unlink()
    ran = cli("verify", "--since", "before.json")
    assert (ran.code, ran.out) == (2, "") and f"error: these findings are of another folder, {tmp_path}," in ran.err


def test_a_file_that_does_not_parse_any_more_proves_nothing(cli: Cli, script: Path) -> None:
    (script.parent / "train.py").write_text((script.parent / "train.py").read_text() + "def\n")
    ran = cli("verify", "--since", "before.json")
    assert ran.code == 1 and "new       train.py:" in ran.out and "FSDP000" in ran.out
    assert "(the edit made it, or what was there before had kept it out of sight)" in ran.out


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"code": "FSDP601"}]', "nothing", '{"clean": true}'])
def test_what_was_not_written_by_check(cli: Cli, script: Path, text: str) -> None:
    Path("before.json").write_text(text)
    ran = cli("verify", "--since", "before.json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: before.json: does not contain what `check --output-format json` prints\n"


DEEP = "[" * 100_000
WRONG = {
    "filename": 7,
    "code": None,
    "message": [1],
    "fingerprint": 3,
    "about": 7,
    "related": [{}],
    "project": {"folder": 7},
    "location": {"row": "1"},
}


@pytest.mark.parametrize(
    "text", [DEEP, '{"a":' * 50_000, "[NaN]", f"[{'1' * 6_000}]"], ids=["lists", "dicts", "NaN", "digits"]
)
def test_what_is_hard_to_parse(cli: Cli, script: Path, text: str) -> None:
    Path("before.json").write_text(text)
    ran = cli("verify", "--since", "before.json")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1) and "does not contain what" in ran.err


@pytest.mark.parametrize("key", WRONG)
def test_values_of_a_wrong_type(cli: Cli, script: Path, key: str) -> None:
    held = json.loads(Path("before.json").read_text())
    Path("before.json").write_text(json.dumps([{**held[0], key: WRONG[key]}]))
    ran = cli("verify", "--since", "before.json")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1) and "does not contain what" in ran.err


@pytest.mark.parametrize(
    "key", ["kind", "path", "row", "verdicts", "reasons", "scripts", "unfollowed", "functions", "torch"]
)
def test_what_was_seen_of_a_wrong_type(cli: Cli, script: Path, key: str) -> None:
    held = json.loads(Path("before.json").read_text())
    held[0]["about"][0][key] = 7.5
    Path("before.json").write_text(json.dumps(held))
    ran = cli("verify", "--since", "before.json")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1) and "does not contain what" in ran.err


def test_files_that_are_no_json(cli: Cli, script: Path) -> None:
    for path in ("/etc/passwd", "trainer.py"):
        ran = cli("verify", "--since", path)
        assert (ran.code, ran.out) == (2, "") and "does not contain what" in ran.err


def test_a_file_that_is_not_there(cli: Cli, script: Path) -> None:
    ran = cli("verify", "--since", "nowhere.json")
    assert (ran.code, ran.err) == (2, "error: nowhere.json: cannot be read: No such file or directory\n")
    assert cli("verify").code == 2
