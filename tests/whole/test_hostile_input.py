"""What was seen to break the tool once: files that are none, names that speak, values that mean nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fsdp2_lint.cli import invoke
from fsdp2_lint.files import reading
from fsdp2_lint.output import FORMATS
from fsdp2_lint.output.terminal import defused, harmless, one_line
from fsdp2_lint.static.frontend.pins import oldest_torch, pinned_torch
from tests.locks.hostile import NAMES, PROGRAM

Said = tuple[int, str, str]
Cli = Callable[..., Said]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    Path("train.py").write_text(PROGRAM)

    def call(*arguments: str) -> Said:
        code = invoke([*arguments])
        out, err = capfd.readouterr()
        assert "internal error" not in err and "Traceback" not in err, err
        return code, out, err

    return call


# What is no file


@pytest.mark.parametrize("name", ["pyproject.toml", "fsdp2-lint.toml"])
@pytest.mark.parametrize("kind", ["pipe", "endless"])
def test_settings_that_are_no_file(name: str, kind: str, cli: Cli) -> None:
    os.mkfifo(name) if kind == "pipe" else os.symlink("/dev/zero", name)
    code, out, err = cli("check")
    assert (code, out, err.count("\n")) == (2, "", 1) and f"{name}: cannot be read: it is not a regular file" in err
    assert cli("check", "--isolated")[0] == 1


@pytest.mark.parametrize("name", ["requirements.txt", "setup.cfg", ".python-version", "requirements/a.txt"])
def test_what_may_pin_torch_is_no_file(name: str, cli: Cli) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    os.mkfifo(name)
    assert cli("check")[0] == cli("check", "--isolated")[0] == 1


def test_a_gitignore_that_is_no_file_is_said_and_the_rest_checked(cli: Cli) -> None:
    os.mkfifo(".gitignore")
    code, out, err = cli("check")
    assert code == 1 and "FSDP601" in out and ".gitignore: cannot be read: it is not a regular file" in err
    assert "Incomplete: 1 warning above." in err


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/tty", "pipe", "socket"])
def test_a_named_file_that_is_none(target: str, cli: Cli) -> None:
    if target == "pipe":
        os.mkfifo(target)
    elif target == "socket":
        import socket

        with socket.socket(socket.AF_UNIX) as made:
            made.bind(target)
    code, out, err = cli("check", target, "train.py")
    assert code == 2 and "FSDP601" in out and f"{target}: cannot be read: it is not a regular file" in err


@pytest.mark.parametrize("option", ["--baseline", "--since"])
def test_a_baseline_or_a_report_that_is_none(option: str, cli: Cli) -> None:
    os.mkfifo("known.json")
    command = "verify" if option == "--since" else "check"
    code, out, err = cli(command, option, "known.json")
    assert (code, out) == (2, "") and "it is not a regular file" in err


def test_what_the_shell_puts_together_can_still_be_named(cli: Cli) -> None:
    read, write = os.pipe()
    os.write(write, PROGRAM.encode())
    os.close(write)
    assert "FSDP601" in cli("check", f"/dev/fd/{read}")[1]
    os.close(read)


# Sizes


def large(monkeypatch: pytest.MonkeyPatch, path: str, text: bytes) -> list[int]:
    """Makes a file larger than the limit; what is told is how much is read of it."""
    with open(path, "wb") as file:
        file.write(text)
        file.truncate(10 * reading.FILE_BYTES if path.endswith(".py") else 10 * reading.NOTEBOOK_BYTES)
    sizes: list[int] = []
    works = os.read

    def counted(descriptor: int, size: int) -> bytes:
        data = works(descriptor, size)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(reading.os, "read", counted)
    return sizes


@pytest.mark.parametrize("text", [b"x = 1\n", PROGRAM.encode()])
def test_a_large_file_is_not_read_to_its_end(text: bytes, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = large(monkeypatch, "large.py", text)
    code, out, err = cli("check", "large.py", "train.py")
    assert code == 2 and "FSDP601" in out and "large.py: cannot be read: it is larger than 4 MB" in err
    assert max(sizes) <= reading.FILE_BYTES + 1 and sum(sizes) < 5 * reading.FILE_BYTES


def test_in_a_folder_a_large_file_is_an_error_only_if_it_speaks_of_fsdp2(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    large(monkeypatch, "large.py", b"x = 1\n")
    code, out, err = cli("check")
    assert code == 1 and "warning: not looked at: large.py: cannot be read: it is larger than 4 MB" in err
    large(monkeypatch, "large.py", PROGRAM.encode())
    assert cli("check")[0] == 2


def test_stdin_has_a_limit_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless:
        def read(self, size: int) -> bytes:
            return b"#" * size

    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": Endless()})())
    code, _, err = cli("check", "-", "--stdin-filename", "new.py")
    assert code == 2 and "new.py: cannot be read: it is larger than 4 MB" in err


def test_a_notebook_of_many_cells(cli: Cli) -> None:
    cell = {"cell_type": "code", "source": "x = 1\n"}
    cells = [{"cell_type": "code", "source": PROGRAM}, *[cell] * 200_000]
    Path("many.ipynb").write_text(json.dumps({"cells": cells}))
    code, out, err = cli("check")
    assert code == 2 and "FSDP601" in out and "many.ipynb: has more than 10,000 cells" in err


@pytest.mark.parametrize("text", ["torch" + " " * 150_000, "torch" + "\n" * 150_000 + "==", 'torch"' * 30_000])
def test_blanks_behind_torch_are_read_once(text: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(text)
    assert pinned_torch(tmp_path) is None is oldest_torch(str(tmp_path / "a.py"), tmp_path)


@pytest.mark.parametrize("line", [" " * 200_000, "x" + " " * 200_000, "a " * 100_000, "\t" * 200_000 + "!ls"])
def test_a_cell_of_blanks_is_read_once(line: str, cli: Cli) -> None:
    Path("blank.ipynb").write_text(json.dumps({"cells": [{"cell_type": "code", "source": line + PROGRAM}]}))
    assert "train.py" in cli("check", "--output-format", "concise")[1]


# What is printed


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("output_format", ["github", "concise"])
def test_a_name_says_nothing_of_its_own(name: str, output_format: str, cli: Cli) -> None:
    Path(name).write_text(PROGRAM)
    Path("also\n::error file=a::pwn.py").write_bytes(b"\0fully_shard")
    for arguments in (["check"], ["check", "--show-files"], ["check", "--", name], ["contract"]):
        if arguments == ["check"]:
            arguments += ["--output-format", output_format]
        _, out, err = cli(*arguments)
        for line in (out + err).split("\n"):
            assert line.isprintable() or "\\udcff" in line or line.replace("\t", "").isprintable(), repr(line)
            assert not line.lstrip().startswith("::") or line.startswith("::error title=fsdp2-lint"), line
            assert "##[" not in line and "##vso[" not in line or line.startswith("::error title"), line


@pytest.mark.parametrize("output_format", FORMATS)
@pytest.mark.parametrize("name", ["##[error]x", "::error::x"])
def test_a_folder_that_is_called_like_a_command(name: str, output_format: str, cli: Cli) -> None:
    Path(name).mkdir()
    Path(f"{name}/train.py").write_text(PROGRAM)
    _, out, _ = cli("check", name, "--output-format", output_format)
    if output_format != "github":
        assert "##[" not in out and not any(line.lstrip().startswith("::e") for line in out.splitlines())
    if output_format == "json":
        assert {Path(each["filename"]).parent.name for each in json.loads(out)} == {name}
    if output_format == "junit":
        assert {each.get("file") for each in ElementTree.fromstring(out).iter("testcase")} == {f"{name}/train.py"}


def test_what_click_says_is_harmless_too(cli: Cli) -> None:
    code, _, err = cli("check", "--nosuch\x1b[31m\n::error::x")
    assert code == 2 and "\x1b" not in err and "\n::" not in err


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\n::error::b", "a\n\ufffd:error::b"),
        ("  ::set-env x=y::", "  \ufffd:set-env x=y::"),
        ("    ::: a.py:1:1", "    ::: a.py:1:1"),  # ours, and no command
        ("x ##[error]y ##vso[z]", "x #\ufffd[error]y #\ufffdvso[z]"),
        ("a::b # #[x]", "a::b # #[x]"),
    ],
)
def test_commands_of_services(text: str, shown: str) -> None:
    assert defused(text) == harmless(text) == shown
    assert "\n" not in one_line(text)


@pytest.mark.parametrize("name", ["--fix.py", "--add-ignore=x.py", "--output=train.py", "-q"])
def test_a_file_that_is_called_like_an_option(name: str, cli: Cli) -> None:
    """pre-commit gives names of files as they are."""
    Path("train.py").write_text("x = 1\n")
    Path(name).write_text("x = 1\n")
    code, out, err = cli("check", name, "train.py")
    assert code == 2 and f"./{name}" in err and not out
    assert Path("train.py").read_text() == "x = 1\n"
    if name.endswith(".py"):
        for named in ([f"./{name}"], ["--", name]):
            code, _, err = cli("check", *named)
            assert code == 0, err


# What is imported


TRAP = "import pathlib\npathlib.Path(__file__ + '.ran').touch()\n"
MODULES = ["click", "astroid", "tomllib", "json", "typing", "__future__", "re", "gc", "rules", "torch"]


@pytest.mark.parametrize("command", [["check"], ["explain", "FSDP601"], ["rules"]])
def test_nothing_of_the_folder_is_imported(command: list[str], cli: Cli) -> None:
    for name in MODULES:
        Path(f"{name}.py").write_text(TRAP)
    ran = subprocess.run([sys.executable, "-m", "fsdp2_lint", *command], capture_output=True, text=True, timeout=60)
    assert "Traceback" not in ran.stderr and ran.returncode in (0, 1), ran.stderr
    assert not [*Path().glob("*.ran")]


# What the environment says


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FSDP2_LINT_DEBUG", "yes"),
        ("FSDP2_LINT_STEPS", "many"),
        ("FSDP2_LINT_STEPS", "9" * 5_000),
        ("FSDP2_LINT_STEPS", "\x1b[31m\n::error::x"),
    ],
)
@pytest.mark.parametrize("command", [["check", "plain.py"], ["check"], ["rules"], ["contract"]])
def test_a_wrong_value_is_an_error_of_one_line(
    name: str, value: str, command: list[str], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("plain.py").write_text("x = 1\n")
    monkeypatch.setenv(name, value)
    code, out, err = cli(*command)
    assert (code, out) == (2, "") and err.startswith(f"error: {name}: ") and err.count("\n") == 1
    assert "\x1b" not in err


def test_debug_may_be_switched_off(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSDP2_LINT_DEBUG", "0")
    assert cli("check")[0] == 1


@pytest.mark.parametrize("name", ["RANK", "WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT"])
def test_a_launcher_that_sets_nonsense(name: str, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "first")
    code, out, err = cli("run", "--check", "train.py")
    assert (code, out) == (2, "") and err.startswith(f"error: {name}: 'first' is not a number") and err.count("\n") == 1


# What was not seen is counted


def test_what_was_not_checked_is_in_each_format_that_has_a_place(cli: Cli) -> None:
    Path("broken.py").write_bytes(b"\0fully_shard")
    os.mkfifo(".gitignore")
    for output_format in FORMATS:
        code, out, err = cli("check", "--output-format", output_format)
        assert code == 2 and "Incomplete: 1 error, 1 warning above." in err
        if output_format == "sarif":
            (run,) = json.loads(out)["runs"]
            (told,) = run["invocations"]
            assert not told["executionSuccessful"]
            assert [each["level"] for each in told["toolExecutionNotifications"]] == ["error", "warning"]
        elif output_format == "junit":
            assert 'errors="1"' in out and "<system-err>" in out and "broken.py" in out
        elif output_format == "github":
            assert "\n::error title=fsdp2-lint::broken.py: " in out and "\n::warning title=fsdp2-lint::" in out
        elif output_format == "agent":
            assert "not checked: broken.py" in out and "incomplete: 1 error, 1 warning" in out
        elif output_format in ("json", "gitlab"):
            assert isinstance(json.loads(out), list)
    told = json.loads(cli("contract", "--output-format", "json")[1])
    assert len(told["errors"]) == len(told["warnings"]) == 1
    cli("check", "--isolated", "--output-format", "json", "-o", "before.json", "train.py")
    told = json.loads(cli("verify", "--since", "before.json", "--output-format", "json")[1])
    assert len(told["errors"]) == len(told["warnings"]) == 1
