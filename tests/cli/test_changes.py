"""What `check` writes, it writes where it was asked to, all or nothing, and it says what became of it."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fsdp2_lint import lint as lint_module
from fsdp2_lint.files import writing
from tests.cli.conftest import Ran

Cli = Callable[..., Ran]
PRIVATE = "from torch.distributed._composable.fsdp import fully_shard\n"
PUBLIC = "from torch.distributed.fsdp import fully_shard\n"
ACTIONS = {
    "fix": ("--fix",),
    "add-ignore": ("--add-ignore",),
    "update-baseline": ("--update-baseline",),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder beside another one, into which it has a link."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "in" / "own.py").write_text(PRIVATE)
    (tmp_path / "out" / "target.py").write_text(PRIVATE)
    (tmp_path / "in" / "link.py").symlink_to("../out/target.py")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def held(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def broken(monkeypatch: pytest.MonkeyPatch, name: str, number: int) -> None:
    """A function of the system fails from now on, but that what is there can be read."""
    works: Callable[..., object] = getattr(os, name)

    def call(*given: object, **named: object) -> object:
        if name == "open" and not os.path.basename(str(given[0])).startswith(writing.PREFIX):
            return works(*given, **named)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(writing.os, name, call)


@pytest.mark.parametrize("arguments", [("--fix",), ("--fix", "--diff"), ("--add-ignore",)], ids=" ".join)
def test_a_link_leads_to_no_change_out_of_what_was_given(arguments: tuple[str, ...], cli: Cli, project: Path) -> None:
    ran = cli("check", "in", *arguments)
    assert (project / "out" / "target.py").read_text() == PRIVATE
    assert "+++ out/target.py" not in ran.out and "out/target.py" in ran.err, "it is said"
    assert ran.code == 1


def test_what_was_given_is_changed_also_where_a_link_leads_to_it(cli: Cli, project: Path) -> None:
    cli("check", "in/link.py", "--fix")
    assert (project / "out" / "target.py").read_text() == PUBLIC, "it is of the same project, and named"
    (project / "out" / "target.py").write_text(PRIVATE)
    cli("check", "in", "out", "--fix")
    assert (project / "out" / "target.py").read_text() == (project / "in" / "own.py").read_text() == PUBLIC


def test_a_named_link_into_another_project_changes_nothing_there(cli: Cli, project: Path) -> None:
    for folder in ("in", "out"):
        (project / folder / ".git").mkdir()
    for action in (("--fix",), ("--add-ignore",)):
        assert cli("check", "in/link.py", *action).code == 1
    assert (project / "out" / "target.py").read_text() == PRIVATE


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(
    ("name", "number", "words"),
    [
        ("write", errno.ENOSPC, "No space left on device"),
        ("fsync", errno.EIO, "Input/output error"),
        ("replace", errno.EROFS, "Read-only file system"),
        ("open", errno.EACCES, "Permission denied"),
    ],
)
def test_what_cannot_be_written_is_one_line_and_changes_nothing(
    action: str, name: str, number: int, words: str, cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "known.json").write_text('{"version": 1, "findings": []}')
    before = held(project)
    with monkeypatch.context() as patch:
        broken(patch, name, number)
        ran = cli("check", ".", *ACTIONS[action], *["--baseline", "known.json"] * (action == "update-baseline"))
    (line,) = [line for line in ran.err.splitlines() if line.startswith("error: ")]
    assert ran.code == 2 and words in line and line.endswith("; nothing was changed")
    assert held(project) == before
    assert action != "fix" or "FSDP901" in ran.out, "what was found is still told"


def test_a_read_only_file_stays(cli: Cli, project: Path) -> None:
    (project / "in" / "own.py").chmod(0o444)
    ran = cli("check", ".", "--fix")
    assert ran.code == 2 and "error: in/own.py: cannot be written: it is read-only; nothing was changed" in ran.err
    assert held(project)["in/own.py"] == held(project)["out/target.py"] == PRIVATE


@pytest.mark.parametrize("action", ACTIONS)
def test_what_somebody_saves_meanwhile_stays(
    action: str, cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor saves while the analysis runs, after the file was read."""
    written = project / ("known.json" if action == "update-baseline" else "in/own.py")
    (project / "known.json").write_text('{"version": 1, "findings": []}')
    works = lint_module._run_engine

    def run(*given: object) -> None:
        works(*given)  # type: ignore[arg-type]
        written.write_text("mine = 1\n")

    monkeypatch.setattr(lint_module, "_run_engine", run)
    ran = cli("check", "in", *ACTIONS[action], *["--baseline", "known.json"] * (action == "update-baseline"))
    assert written.read_text() == "mine = 1\n"
    assert ran.code == 2 and f"{written.relative_to(project)}: was changed meanwhile; nothing was written" in ran.err


def test_an_edit_is_of_what_was_analysed(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is saved between its analysis and the making of an edit has its lines elsewhere."""
    import fsdp2_lint.static.check as static

    works = static.check

    def check(*given: object, **named: object) -> object:
        result = works(*given, **named)  # type: ignore[arg-type]
        (project / "in" / "own.py").write_text(f"mine = 1\n{PRIVATE}")
        return result

    monkeypatch.setattr(static, "check", check)
    ran = cli("check", "in/own.py", "--add-ignore")
    assert ran.code == 2 and "in/own.py: was changed meanwhile" in ran.err
    assert (project / "in" / "own.py").read_text() == f"mine = 1\n{PRIVATE}"


def test_results_replace_a_file_as_a_whole(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify --since` reads them: half of a list would be none."""
    (project / "found.json").write_text("[]\n")
    (project / "to.json").symlink_to("found.json")
    assert cli("check", "in/own.py", "--output-format", "json", "-o", "to.json").code == 1
    assert len(json.loads((project / "found.json").read_text())) == 1 and (project / "to.json").is_symlink()
    broken(monkeypatch, "write", errno.ENOSPC)
    ran = cli("check", "in", "--output-format", "json", "-o", "to.json")
    assert ran.code == 2 and "found.json: cannot be written: No space left on device; nothing was changed" in ran.err
    assert len(json.loads((project / "found.json").read_text())) == 1
