"""What `check` does besides telling: it mends, shows differences, writes comments, counts, and lists files."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import fake
from tests.cli.conftest import Ran

Cli = Callable[..., Ran]
ROOT = Path(__file__).parents[2]
BROKEN = ROOT / "examples" / "broken"
PRIVATE = "from torch.distributed._composable.fsdp import fully_shard\n"
PUBLIC = "from torch.distributed.fsdp import fully_shard\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One fault that can be mended, one that cannot, one comment too much."""
    (tmp_path / "private.py").write_text(PRIVATE)
    shutil.copy(BROKEN / "root_only.py", tmp_path / "root_only.py")
    (tmp_path / "idle.py").write_text("x = 1  # fsdp2-lint: ignore[FSDP601]\n")
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_fix_mends_what_can_be_mended_and_tells_the_rest(cli: Cli, project: Path) -> None:
    rest = (project / "root_only.py").read_text()
    assert "2 can be fixed by --fix." in cli("check").err
    ran = cli("check", "--fix", "--output-format", "concise")
    assert ran.code == 1 and ran.out.startswith("root_only.py:") and ran.out.count("\n") == 1
    assert ran.err == "Fixed 2 findings in 2 files.\nFound 1 warning in 3 files.\n"
    assert (project / "private.py").read_text() == PUBLIC and (project / "idle.py").read_text() == "x = 1\n"
    assert (project / "root_only.py").read_text() == rest
    (project / "root_only.py").unlink()
    ran = cli("check", "--fix")
    assert (ran.code, ran.out, ran.err) == (0, "", "No findings in 2 files, 1 with FSDP2.\n"), "nothing left to do"


def test_the_exit_code_may_count_what_was_fixed(cli: Cli, project: Path) -> None:
    (project / "root_only.py").unlink()
    assert cli("check", "--exit-non-zero-on-fix").err.endswith("--exit-non-zero-on-fix needs --fix\n")
    assert cli("check", "--diff", "--exit-non-zero-on-fix").code == 2
    ran = cli("check", "--fix", "--exit-non-zero-on-fix")
    assert (ran.code, ran.out) == (1, "") and ran.err.startswith("Fixed 2 findings in 2 files.\n")
    assert cli("check", "--fix", "--exit-non-zero-on-fix").code == 0, "nothing was left to fix"


@pytest.mark.parametrize("quiet", ["-q", "--quiet"])
def test_quiet_leaves_out_what_is_neither_finding_nor_problem(cli: Cli, project: Path, quiet: str) -> None:
    loud = cli("check", "--output-format", "concise")
    ran = cli("check", "--output-format", "concise", quiet)
    assert (ran.code, ran.out, ran.err) == (1, loud.out, "") and loud.err
    assert "missing.py" in cli("check", quiet, ".", "missing.py").err, "what could not be checked is told"
    assert cli("check", "-o", "before.json", "--output-format", "json", quiet).err == ""
    for arguments in (
        ["check", "--fix", "--max-findings", "1"],
        ["check", "--statistics"],
        ["check", "--diff"],
        ["verify", "--since", "before.json"],
        ["check", "--update-baseline"],
        ["check", "--add-ignore"],
    ):
        assert cli(*arguments, quiet).err == "", arguments


def test_fix_keeps_the_mode_of_a_file_and_links_to_it(cli: Cli, project: Path) -> None:
    (project / "private.py").chmod(0o750)
    (project / "link.py").symlink_to(project / "private.py")
    assert cli("check", "--fix", "link.py").code == 0
    assert (project / "private.py").read_text() == PUBLIC and (project / "link.py").is_symlink()
    assert (project / "private.py").stat().st_mode & 0o777 == 0o750


def test_files_that_were_not_asked_for_stay_as_they_are(cli: Cli, project: Path, engine: fake.Engine) -> None:
    (project / "private.py").write_text(PUBLIC)
    edited = fake.site(project / "idle.py", 1, 1, 1, 2)
    finding = fake.with_fix(fake.finding(fake.site(project / "private.py", 1)), edited, "y")
    engine.result.findings = [finding]
    ran = cli("check", "--fix", "private.py")
    assert ran.code == 1 and "mended" not in ran.err
    assert (project / "idle.py").read_text().startswith("x")
    engine.result.findings = [finding]
    assert "2 can be fixed by --fix." in cli("check", "private.py", "idle.py").err, "with the comment of idle.py"


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_difference_can_be_applied(cli: Cli, project: Path, end: str) -> None:
    # A form feed ends no line, and the last line has no end.
    text = f'"""A page\f break."""\n{PRIVATE}\nx = 1  # fsdp2-lint: ignore[FSDP601]'.replace("\n", end)
    (project / "private.py").write_bytes(text.encode())
    ran = cli("check", "--diff", "-o", "mend.patch")
    assert (ran.code, ran.out, ran.err) == (1, "", "Would have fixed 3 findings in 2 files.\n")
    assert (project / "private.py").read_bytes() == text.encode()
    subprocess.run(["git", "apply", "-p0", "mend.patch"], cwd=project, check=True)
    mended = f'"""A page\f break."""\n{PUBLIC}\nx = 1'.replace("\n", end)
    assert (project / "private.py").read_bytes() == mended.encode()
    assert cli("check", "--diff", "private.py").code == 0


def test_an_unsafe_fix_is_counted_where_it_is_not_asked_for(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(BROKEN / "optimizer_before_sharding", tmp_path / "job")
    monkeypatch.chdir(tmp_path / "job")
    assert cli("check").err == "Found 1 error in 5 files. 1 can be fixed by --fix --unsafe-fixes.\n"
    ran = cli("check", "--diff")
    assert (ran.code, ran.out) == (0, ""), "there is nothing that it would fix"
    assert ran.err == "Would have fixed 0 findings in 0 files (1 more with --unsafe-fixes).\n"
    ran = cli("check", "--diff", "--unsafe-fixes")
    assert (ran.code, ran.err) == (1, "Would have fixed 1 finding in 1 file.\n")
    Path("private.py").write_text(PRIVATE)
    assert "1 can be fixed by --fix, 1 more with --unsafe-fixes." in cli("check").err


def test_a_difference_goes_to_stdout_and_nothing_else_does(cli: Cli, project: Path) -> None:
    ran = cli("check", "--fix", "--diff", "idle.py", "private.py", "root_only.py")
    assert ran.out.splitlines()[:3] == ["--- idle.py", "+++ idle.py", "@@ -1 +1 @@"]
    assert cli("check", "--diff", "--exit-zero").code == 0
    assert cli("check", "--diff", "--exit-zero", "missing.py").code == 2


def piped(data: bytes, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "fsdp2_lint", "check", "-", "--stdin-filename", "new.py", *arguments]
    environment = {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii", "PATH": ""}
    return subprocess.run(command, cwd=cwd, input=data, capture_output=True, env=environment, timeout=60)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{PRIVATE}# é\r\n".encode(), f"{PUBLIC}# é\r\n".encode()),
        (b"\xef\xbb\xbf" + PRIVATE.encode(), b"\xef\xbb\xbf" + PUBLIC.encode()),
        (b"# coding: latin-1\n# \xe9\n" + PRIVATE.encode(), b"# coding: latin-1\n# \xe9\n" + PUBLIC.encode()),
        (b"# nothing to mend: \xe9\n", b"# nothing to mend: \xe9\n"),
        (b"def f(:\n", b"def f(:\n"),
    ],
)
def test_what_comes_from_stdin_is_mended_to_stdout_byte_by_byte(tmp_path: Path, before: bytes, after: bytes) -> None:
    assert piped(before, "--fix", cwd=tmp_path).stdout == after
    assert not (tmp_path / "new.py").exists()


def test_comments_cannot_be_added_to_stdin(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text("x = 1\n")
    ran = piped(PRIVATE.encode(), "--add-ignore", cwd=tmp_path)
    assert ran.returncode == 2 and b"--add-ignore writes into files, and stdin is not a file" in ran.stderr
    assert (tmp_path / "new.py").read_text() == "x = 1\n"


@pytest.mark.parametrize("example", ["root_only.py", "sharded_twice.py", "optimizer_before_sharding", "direct_forward"])
def test_what_is_silenced_is_clean_and_stays_as_it_is(cli: Cli, tmp_path: Path, example: str) -> None:
    source, copy = BROKEN / example, tmp_path / example
    shutil.copytree(source, copy) if source.is_dir() else shutil.copy(source, copy)
    (tmp_path / "pyproject.toml").touch()
    assert cli("check", tmp_path).code == 1
    ran = cli("check", "--add-ignore=for the tests", tmp_path)
    assert (ran.code, ran.out) == (0, "") and ran.err.startswith("Silenced 1 finding in 1 file.")
    texts = {path: path.read_bytes() for path in tmp_path.rglob("*.py")}
    assert sum(text.count(b"] for the tests\n") for text in texts.values()) == 1
    ran = cli("check", tmp_path)
    assert (ran.code, ran.out) == (0, "") and ran.err.endswith(" 1 silenced by comments.\n")
    assert cli("check", "--add-ignore", tmp_path).err.startswith("Silenced 0 findings in 0 files.")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.py")} == texts


def test_a_path_after_add_ignore_is_no_reason(cli: Cli, project: Path) -> None:
    before = (project / "root_only.py").read_text()
    assert cli("check", "--add-ignore", "private.py").code == 0
    assert (project / "private.py").read_text() == f"# fsdp2-lint: ignore[FSDP901]\n{PRIVATE}"
    assert (project / "root_only.py").read_text() == before


def test_what_cannot_be_silenced_is_told(cli: Cli, project: Path) -> None:
    (project / "bad.py").write_text("fully_shard(\n")
    ran = cli("check", "--add-ignore")
    assert ran.code == 1 and ran.out == ""
    assert "Silenced 2 findings in 2 files.\nbad.py:1:12: FSDP000 is left: no comment could be written" in ran.err
    assert cli("check", "--add-ignore", "--exit-zero").code == 0


def test_statistics_count_by_code(cli: Cli, project: Path) -> None:
    (project / "again.py").write_text(PRIVATE)
    ran = cli("check", "--statistics")
    assert ran.code == 1
    assert ran.out == "2  FSDP901  private-import-path\n1  FSDP001  unused-suppression\n1  FSDP301  root-only\n"
    assert ran.err == "Found 4 warnings in 4 files. 3 can be fixed by --fix.\n"
    assert cli("check", "--statistics", "--isolated", "--ignore", "FSDP").out == ""
    assert json.loads(cli("check", "--statistics", "--output-format", "json").out) == [
        {"version": 1, "code": "FSDP901", "name": "private-import-path", "count": 2},
        {"version": 1, "code": "FSDP001", "name": "unused-suppression", "count": 1},
        {"version": 1, "code": "FSDP301", "name": "root-only", "count": 1},
    ]
    assert cli("check", "--statistics", "--output-format", "json", "--ignore", "FSDP").out == "[]\n"
    assert cli("check", "--statistics", "--output-format", "json", "missing.py").out == "", "which is no success"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--fix", "--add-ignore"],
        ["--diff", "--update-baseline"],
        ["--show-files", "--show-settings"],
        ["--fix", "--statistics"],
        ["--add-ignore", "--confirm", "report"],
        ["--unsafe-fixes"],
        ["--statistics", "--output-format", "sarif"],
    ],
)
def test_one_thing_at_a_time(cli: Cli, project: Path, arguments: list[str]) -> None:
    before = {path: path.read_bytes() for path in project.iterdir()}
    ran = cli("check", *arguments)
    assert (ran.code, ran.out) == (2, "") and "Usage:" in ran.err
    assert {path: path.read_bytes() for path in project.iterdir()} == before


def test_files_are_listed_as_they_would_be_checked(cli: Cli, project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.fsdp2-lint]\nexclude = ["idle.py"]\n')
    assert cli("check", "--show-files").out == "private.py\nroot_only.py\n"
    assert cli("check", "--show-files", "--isolated").out == "idle.py\nprivate.py\nroot_only.py\n"
    assert cli("check", "--show-files", "--force-exclude", "idle.py", "private.py").out == "private.py\n"
    ran = cli("check", "--show-files", "missing.py", "private.py")
    assert (ran.code, ran.out) == (2, "private.py\n") and ran.err.startswith("error: missing.py: cannot be read")
