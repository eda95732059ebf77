"""`check --baseline` and `--update-baseline`, with programs that are really broken."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran

Cli = Callable[..., Ran]
EXAMPLES = Path(__file__).parents[2] / "examples" / "broken"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("sharded_twice.py", "root_only.py"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    (tmp_path / "pyproject.toml").write_text('[tool.fsdp2-lint]\nbaseline = "ci/known.json"\n')
    (tmp_path / "ci").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def listed(project: Path) -> list[tuple[str, str]]:
    held = json.loads((project / "ci" / "known.json").read_text())
    return [(entry["path"], entry["code"]) for entry in held["findings"]]


def test_what_is_written_is_not_reported_again_and_what_is_new_is(cli: Cli, project: Path) -> None:
    assert cli("check").code == 2, "it is not there yet"
    wrote = cli("check", "--update-baseline")
    assert (wrote.code, wrote.out, wrote.err) == (0, "", "ci/known.json: 2 findings\n")
    assert listed(project) == [("../root_only.py", "FSDP301"), ("../sharded_twice.py", "FSDP305")]
    ran = cli("check")
    assert (ran.code, ran.out) == (0, "") and ran.err.endswith(" 2 in the baseline.\n")
    text = (project / "sharded_twice.py").read_text()
    (project / "sharded_twice.py").write_text(f"# moved\n\n\n{text}")
    assert cli("check").code == 0
    (project / "new.py").write_text(text)
    ran = cli("check", "--output-format", "concise")
    assert ran.code == 1 and ran.out.startswith("new.py:") and ran.out.count("\n") == 1
    assert cli("check", "--isolated").code == 1
    assert cli("check", "--isolated", "--baseline", "ci/known.json", "sharded_twice.py").code == 0


def test_what_is_mended_is_told_and_dropped(cli: Cli, project: Path) -> None:
    cli("check", "--update-baseline")
    (project / "root_only.py").write_text("from torch.distributed.fsdp import fully_shard\n")
    assert "1 of the baseline are gone (--update-baseline drops them)." in cli("check").err
    assert "gone" not in cli("check", "sharded_twice.py").err, "a part of the project says nothing of the rest"
    assert "gone" not in cli("check", "--ignore", "FSDP301").err
    cli("check", "--update-baseline")
    assert listed(project) == [("../sharded_twice.py", "FSDP305")]


def test_of_what_was_not_looked_at_the_entries_stay(cli: Cli, project: Path) -> None:
    cli("check", "--update-baseline")
    before = listed(project)
    for arguments in (["sharded_twice.py"], ["--select", "FSDP305"], ["--select", "FSDP9"]):
        assert cli("check", "--update-baseline", *arguments).code == 0
        assert listed(project) == before
    (project / "root_only.py").unlink()
    cli("check", "--update-baseline", "sharded_twice.py")
    assert listed(project) == before, "nobody asked what became of a file that is not named"
    cli("check", "--update-baseline")
    assert listed(project) == [("../sharded_twice.py", "FSDP305")]


def test_it_is_not_written_where_not_all_could_be_checked(cli: Cli, project: Path) -> None:
    (project / "bad.py").write_text("fully_shard(\n")
    for path in (".", "bad.py", "missing.py"):
        ran = cli("check", "--update-baseline", path)
        assert ran.code == 2 and not (project / "ci" / "known.json").exists()
        assert "the baseline is not written, since not everything could be checked\n" in ran.err


def test_it_is_not_written_where_nothing_is_selected(cli: Cli, project: Path) -> None:
    cli("check", "--update-baseline")
    before = listed(project)
    ran = cli("check", "--update-baseline", "--select", "")
    assert (ran.code, ran.out) == (2, "") and listed(project) == before
    assert ran.err == "error: the baseline is not written: Nothing was judged: no code is selected.\n"


def test_a_file_that_is_something_else_is_not_written_over(cli: Cli, project: Path) -> None:
    text = (project / "root_only.py").read_text()
    assert cli("check", "--update-baseline", "--baseline", "root_only.py").code == 2
    assert (project / "root_only.py").read_text() == text


def test_comments_that_silence_nothing_are_mended_and_not_listed(cli: Cli, project: Path) -> None:
    (project / "root_only.py").write_text("x = 1  # fsdp2-lint: ignore[FSDP601]\n")
    assert "not written: 1 finding about comments" in cli("check", "--update-baseline").err
    assert listed(project) == [("../sharded_twice.py", "FSDP305")]
