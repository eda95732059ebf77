"""action.yml and scripts/action.sh: inputs reach the script as variables, and the script says what CI needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fsdp2_lint.output import FORMATS

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
LEFT_OUT = shutil.ignore_patterns(".*", "*.egg-info", "build", "dist", "site", "__pycache__", "tests")
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def run(cwd: Path, action: Path = ROOT, **inputs: str) -> subprocess.CompletedProcess[str]:
    """The script, with inputs by the names that action.yml gives them."""
    given = {f"FSDP2_LINT_{name.upper()}": value for name, value in inputs.items()}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FSDP2_LINT_")}
    return subprocess.run(
        ["bash", action / "scripts" / "action.sh"],
        cwd=cwd,
        env={**kept, "FSDP2_LINT_PYTHON": sys.executable, "GITHUB_ACTION_PATH": str(action), **given},
        text=True,
        capture_output=True,
        timeout=300,
    )


def test_inputs_are_never_part_of_a_command() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_each_input_reaches_the_script() -> None:
    script = (ROOT / "scripts" / "action.sh").read_text(encoding="utf-8")
    *_, step = ACTION["runs"]["steps"]
    for variable in step["env"]:
        assert f"{{{variable}:-" in script
    used = str(ACTION["runs"])
    assert all(f"inputs.{name} " in used for name in ACTION["inputs"])


def test_defaults_are_what_the_documentation_says() -> None:
    assert ACTION["inputs"]["output-format"]["default"] in FORMATS
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (\S+) \|", page, re.MULTILINE))
    for name, described in ACTION["inputs"].items():
        assert rows[name] == (f"`{described['default']}`" if described["default"] else "none")


@needs_bash
@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"version": "0.1.0; touch made"}, "version has to be a release such as 0.1.0, and is: 0.1.0; touch made"),
        ({"version": "-r made"}, "version has to be a release"),
        ({"folder": "nowhere"}, "working-directory is not a folder: nowhere"),
        ({"args": "--select 'FSDP6"}, "a quote is not closed in: --select 'FSDP6"),
        ({"paths": '"a'}, 'a quote is not closed in: "a'),
        ({"version": "0\n::warning::made"}, "and is: 0 ::warning::made"),
    ],
)
def test_bad_input(inputs: dict[str, str], words: str, tmp_path: Path) -> None:
    ran = run(tmp_path, **inputs)
    assert ran.returncode == 2
    (line,) = ran.stdout.splitlines()
    assert line.startswith("::error title=fsdp2-lint::") and words in line
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def action(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of the action: an installation leaves files behind, which must not land in this one."""
    return Path(shutil.copytree(ROOT, tmp_path_factory.mktemp("action") / "fsdp2-lint", ignore=LEFT_OUT))


@needs_bash
@pytest.mark.slow
def test_broken_good_and_misused(action: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "a folder")
    broken = run(tmp_path, action, paths="'a folder/broken/optimizer_before_sharding'")
    assert broken.returncode == 1, broken.stderr
    assert broken.stdout.startswith("::error ") and "FSDP601" in broken.stdout
    good = run(tmp_path, action, folder="a folder", paths="good", args="--target-torch 2.8")
    assert (good.returncode, good.stdout) == (0, ""), good.stderr
    misused = run(tmp_path, action, paths="$(touch made) nowhere")
    assert misused.returncode == 2 and "nowhere" in misused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a folder"]


@needs_bash
@pytest.mark.slow
def test_the_scripts_of_the_settings_are_rehearsed(action: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    shutil.copy(ROOT / "tests" / "preflight" / "programs" / "uneven.py", tmp_path / "train.py")
    (tmp_path / "fsdp2-lint.toml").write_text('rehearsals = ["train.py"]\n', encoding="utf-8")
    checked = run(tmp_path, action)
    assert (checked.returncode, checked.stdout) == (0, ""), checked.stderr
    rehearsed = run(tmp_path, action, rehearse=sys.executable)
    assert rehearsed.returncode == 1 and "::warning title=fsdp2-lint (FSDP313)" in rehearsed.stdout, rehearsed.stderr
