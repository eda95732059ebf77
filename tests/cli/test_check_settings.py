"""`fsdp2-lint check` with settings and the options beside them; as people, scripts and pre-commit call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fsdp2_lint.vocab.finding import Severity
from tests import fake
from tests.cli.conftest import CANDIDATE, Ran

Cli = Callable[..., Ran]
ROOT = Path(__file__).parents[2]

NONE_LEFT = "No file was checked: `{}` leaves out every file.\n"


@pytest.fixture
def settings(tree: Path) -> Callable[[str], None]:
    def write(text: str) -> None:
        (tree / "fsdp2-lint.toml").write_text(text)

    return write


def judged(cli: Cli, engine: fake.Engine, *arguments: str) -> list[str]:
    assert cli("check", *arguments).code == 0
    return [rule.code for rule in engine.calls[-1].rules]


def test_what_is_selected_here_goes_before_what_the_project_selects(
    cli: Cli, engine: fake.Engine, settings: Callable[[str], None]
) -> None:
    settings('select = ["FSDP6", "FSDP907"]\nignore = ["FSDP602"]\n')
    assert judged(cli, engine) == ["FSDP601", "FSDP907"]
    assert judged(cli, engine, "--ignore", "FSDP907") == ["FSDP601"]
    assert judged(cli, engine, "--select", "FSDP602") == ["FSDP602"]
    assert judged(cli, engine, "--extend-select", "FSDP602") == ["FSDP601", "FSDP907"], (
        "of equal prefixes ignoring wins"
    )
    assert judged(cli, engine, "--isolated") == ["FSDP601", "FSDP602"]
    settings('extend-select = ["FSDP907"]\n')
    assert judged(cli, engine) == ["FSDP601", "FSDP602", "FSDP907"]
    assert judged(cli, engine, "--select", "FSDP601", "--extend-select", "FSDP9") == ["FSDP601", "FSDP907"]


def test_severities_and_ignores_of_the_project(
    cli: Cli, engine: fake.Engine, tree: Path, settings: Callable[[str], None]
) -> None:
    late = fake.finding(fake.site(tree / "train.py", 3))
    root = fake.finding(fake.site(tree / "train.py", 4), code="FSDP602", severity=Severity.WARNING)
    engine.result.findings = [late, root]
    settings('[severity]\nFSDP601 = "warning"\nFSDP602 = "error"\n[per-file-ignores]\n"train.py" = ["FSDP602"]\n')
    ran = cli("check", "--output-format", "concise")
    assert ran.code == 1 and ran.out.startswith("train.py:3:1: FSDP601 warning ") and ran.out.count("\n") == 1
    assert ran.err == "Found 1 warning in 2 files. 1 left out by per-file-ignores.\n"
    settings('[severity]\nFSDP6 = "info"\n')
    assert cli("check").code == 0, "advice is off"
    settings('[per-file-ignores]\n"!tests/" = ["ALL"]\n')
    assert (ran := cli("check")).code == 0 and "2 left out by per-file-ignores." in ran.err


def test_a_file_of_settings_that_is_named(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    (tree / "strict.toml").write_text('select = ["FSDP601"]\n')
    assert judged(cli, engine, "--config", "strict.toml") == ["FSDP601"]
    for arguments, words in [
        (["--config", "none.toml"], "error: none.toml: no such file\n"),
        (["--config", "."], "is a directory"),
        (["--config", "strict.toml", "--isolated"], "--isolated and --config exclude each other"),
    ]:
        ran = cli("check", *arguments)
        assert (ran.code, ran.out) == (2, "") and words in ran.err


def test_at_most_so_many_are_shown_and_the_rest_is_counted(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    engine.result.findings = [fake.finding(fake.site(tree / "train.py", row)) for row in (4, 1, 3)]
    ran = cli("check", "--max-findings", "2", "--output-format", "concise")
    assert [line.split(":")[1] for line in ran.out.splitlines()] == ["1", "3"]
    assert (ran.code, ran.err) == (
        1,
        "1 more are not shown (--max-findings 2)\nFound 3 errors in 2 files.\n",
    )
    assert "not shown" not in cli("check", "--max-findings", "3").err
    last = cli("check", "--max-findings", "2", "--output-format", "agent").out.splitlines()[-1]
    assert last == "3 findings (3 errors); 1 of them not shown", "agents read stdout alone"
    assert cli("check", "--max-findings", "0").code == 2


def test_what_is_written_to_a_file_is_written_also_when_it_is_nothing(
    cli: Cli, engine: fake.Engine, tree: Path
) -> None:
    (tree / "out").write_text("of the last run")
    assert cli("check", "-o", "out").code == 0
    assert (tree / "out").read_text() == ""
    assert cli("check", "-o", "out", "--output-format", "json", "--statistics").code == 0
    assert (tree / "out").read_text() == "[]\n"
    engine.result.findings = [fake.finding(fake.site(tree / "train.py", 3))]
    ran = cli("check", "-o", "out", "--color", "auto")
    assert (ran.code, ran.out) == (1, "") and "\x1b" not in (tree / "out").read_text()
    assert (tree / "out").read_text().startswith("FSDP601 error ")


def test_warnings_and_failures_never_go_to_stdout(cli: Cli, engine: fake.Engine, tree: Path) -> None:
    engine.result.notes = ["a note"]
    engine.result.out_of_budget = ["main"]
    engine.result.broken = [("FSDP601", "KeyError")]
    engine.result.problems = [fake.problem(tree / "train.py", "is nested too deeply to be parsed")]
    for arguments in ([], ["--output-format", "json"], ["--statistics"], ["--diff"], ["--add-ignore"]):
        ran = cli("check", "--exit-zero", ".", "missing.py", *arguments)
        assert (ran.code, ran.out.strip()) == (2, "[]" if "json" in arguments else "")
        assert [line.split(":")[0] for line in ran.err.splitlines()][:5] == ["warning"] * 2 + ["error"] * 3


@pytest.mark.parametrize(
    ("environment", "colored"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"CLICOLOR_FORCE": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
    ],
)
def test_colors_are_as_the_environment_wants_them(
    cli: Cli,
    engine: fake.Engine,
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    colored: bool,
) -> None:
    engine.result.findings = [fake.finding(fake.site(tree / "train.py", 3))]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in cli("check").out) is colored


def precommit(folder: Path, *files: str) -> subprocess.CompletedProcess[str]:
    """As the hook is called: with the changed files, from the top of the repository."""
    command = [sys.executable, "-m", "fsdp2_lint", "check", "--force-exclude", "--output-format", "json", *files]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, timeout=60)


@pytest.mark.slow
def test_as_pre_commit_calls_it(tmp_path: Path) -> None:
    late = "from torch.distributed._composable.fsdp import fully_shard\n"
    for name in ("train.py", "legacy/old.py", "build/made.py", "sub/project/inner.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(late)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("/ignored.py\n")
    (tmp_path / "ignored.py").write_text(late)
    (tmp_path / "pyproject.toml").write_text('[tool.fsdp2-lint]\nexclude = ["legacy"]\n')
    (tmp_path / "sub" / "project" / "pyproject.toml").write_text('[tool.fsdp2-lint]\nignore = ["FSDP9"]\n')

    def found(*files: str) -> tuple[int, list[str]]:
        ran = precommit(tmp_path, *files)
        assert "Traceback" not in ran.stderr
        return ran.returncode, [os.path.relpath(each["filename"], tmp_path) for each in json.loads(ran.stdout)]

    assert found("train.py", "legacy/old.py", "build/made.py", "ignored.py") == (1, ["train.py"])
    assert found("legacy/old.py", "ignored.py") == (0, []), "all that is left is nothing, which is no failure"
    assert found("sub/project/inner.py") == (0, []), "these settings are the nearest"
    assert found("train.py", "sub/project/inner.py") == (1, ["sub/project/inner.py", "train.py"]), "these hold for all"


def test_a_link_is_reported_under_the_name_of_its_target(cli: Cli, tmp_path: Path, engine: fake.Engine) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "train.py").write_text(CANDIDATE)
    (tmp_path / "link").symlink_to(real)
    (real / "round").symlink_to(real)
    engine.result.findings = [fake.finding(fake.site(real / "train.py", 3))]
    for path in (tmp_path / "link", tmp_path / "link" / "train.py", real):
        ran = cli("check", "--output-format", "json", path)
        assert [each["filename"] for each in json.loads(ran.out)] == [str(real / "train.py")]


NOTHING = "Nothing was judged: no code is selected.\n"


def test_an_empty_selection_selects_nothing(
    cli: Cli, engine: fake.Engine, tree: Path, settings: Callable[[str], None]
) -> None:
    engine.result.findings = [fake.finding(fake.site(tree / "train.py", 3))]
    for arguments in (
        ["--select", ""],
        ["--select", ","],
        ["--ignore", "FSDP"],
        ["--select", "FSDP6", "--ignore", "FSDP6"],
    ):
        ran = cli("check", *arguments)
        assert (ran.code, ran.out, ran.err) == (0, "", NOTHING), arguments
    settings("select = []\n")
    assert cli("check").err == NOTHING and not engine.calls
    assert NOTHING.strip() in cli("check", "--output-format", "agent").out, "0 findings would read as success"
    for arguments in ([], ["--output-format", "json"], ["--statistics"]):
        assert cli("check", "-q", *arguments).err == f"warning: {NOTHING}"
    assert cli("check", "--output-format", "json").out == "[]\n"
    assert judged(cli, engine, "--extend-select", "FSDP602") == ["FSDP602"]
    assert judged(cli, engine, "--select", "", "--extend-select", "FSDP907") == ["FSDP907"]
    settings('select = []\nextend-select = ["FSDP602"]\n')
    assert judged(cli, engine) == ["FSDP602"]
    settings("extend-select = []\n")
    assert cli("check").code == 1, "what is not set stays the default"
    (tree / "train.py").write_text("fully_shard(\n")
    assert cli("check", "--select", "", "train.py").err == f"Found 1 error in 1 file. {NOTHING}"


def test_who_selects_invalid_syntax_selects_something(cli: Cli, tree: Path) -> None:
    (tree / "train.py").write_text("fully_shard(\n")
    for arguments in (["--select", "FSDP000"], ["--select", "invalid-syntax", "train.py"]):
        ran = cli("check", *arguments)
        assert ran.code == 1 and ran.out.startswith("FSDP000 ") and "Nothing was judged" not in ran.err


@pytest.mark.parametrize("form", ["fsdp602", "FSDP602", "Fsdp602", "optimizer-after-forward"])
def test_codes_in_any_case_and_names_are_accepted_here(cli: Cli, engine: fake.Engine, tree: Path, form: str) -> None:
    assert judged(cli, engine, "--select", form) == ["FSDP602"]
    assert judged(cli, engine, "--select", "FSDP907", "--extend-select", form) == ["FSDP602", "FSDP907"]
    assert judged(cli, engine, "--ignore", f"{form},fsdp9") == ["FSDP601"]


@pytest.mark.parametrize("pattern", ["*", "/*", "**", "**/*", ".", "./", "*.py"])
def test_all_may_be_excluded_and_that_is_said(
    cli: Cli, engine: fake.Engine, tree: Path, settings: Callable[[str], None], pattern: str
) -> None:
    settings(f'exclude = ["{pattern}"]\n')
    for arguments in ([], ["."], [tree], ["--force-exclude", "train.py"]):
        ran = cli("check", *arguments)
        assert (ran.code, ran.out, ran.err) == (0, "", "No file was checked: `exclude` leaves out every file.\n"), (
            arguments
        )
    ran = cli("check", "--show-files")
    assert (ran.code, ran.out, ran.err) == (0, "", "No file was checked: `exclude` leaves out every file.\n")
    assert cli("check", "--output-format", "json").out == "[]\n"
    assert cli("check", "--show-files", "train.py").out == "train.py\n", "it was named"
    assert cli("check", ".", "missing.py").code == 2


def test_what_is_named_below_is_walked_all_the_same(cli: Cli, tree: Path, settings: Callable[[str], None]) -> None:
    (tree / ".git").mkdir()
    (tree / "sub").mkdir()
    (tree / "sub" / "a.py").write_text("x = 1\n")
    settings('exclude = ["*"]\n')
    assert cli("check", "--show-files", "sub").out == "sub/a.py\n"
    assert cli("check", "--show-files", "--force-exclude", "sub").out == ""


def test_what_git_ignores_is_no_reason_to_pass(cli: Cli, tree: Path) -> None:
    (tree / ".git").mkdir()
    (tree / ".gitignore").write_text("*.py\n")
    ran = cli("check", ".")
    assert (ran.code, ran.err) == (2, "error: no Python files in . but for what .gitignore leaves out\n")
    assert cli("check", "--show-files") == ran, "it is the same list"
    assert (
        cli("check", "--force-exclude", "train.py").err == "No file was checked: `.gitignore` leaves out every file.\n"
    )
