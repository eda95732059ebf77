"""What shells complete, and the scripts by which they ask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from fsdp2_lint.cli import completion, main
from tests.cli.conftest import Ran

Cli = Callable[..., Ran]
ROOT = Path(__file__).parents[2]
COMPLETED = [
    ("explain FSDP70", "FSDP701"),
    ("explain fsdp70", "FSDP701"),
    ("explain naive", "naive-torch-save"),
    ("check --select FSDP60", "FSDP601"),
    ("check --ignore FSDP601,naive", "FSDP601,naive-torch-save"),
    ("report --select optimizer-before-s", "optimizer-before-sharding"),
    ("completion z", "zsh"),
    ("check --select A", "ALL"),
    ("run --ignore=FSDP601,a", "FSDP601,ALL"),
    ("check --target-torch 2.1", "2.15"),
    ("contract --target-torch=2.", "2.5"),
]


@pytest.mark.parametrize(("typed", "wanted"), COMPLETED)
def test_codes_and_names_are_completed(typed: str, wanted: str) -> None:
    assert (wanted, "plain") in completed(typed)


def completed(typed: str) -> list[tuple[str, str]]:
    *before, last = typed.split(" ")
    asked = ShellComplete(main, {}, "fsdp2-lint", completion.VARIABLE)
    return [(item.value, item.type) for item in asked.get_completions(before, last)]


@pytest.mark.parametrize(
    "typed",
    [
        "check tr",
        "run tr",
        "run --check train.py tr",
        "preflight --world-size 8 tr",
        "verify --since tr",
        "verify --since=tr",
        "check - --stdin-filename tr",
    ],
)
def test_names_of_files_are_left_to_the_shell(typed: str) -> None:
    assert completed(typed) == [("tr", "file")]


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_the_script_for_a_shell_asks_this_tool(cli: Cli, shell: str) -> None:
    ran = cli("completion", shell)
    assert ran.code == 0 and f"{completion.VARIABLE}={shell}_complete" in ran.out and "%(" not in ran.out
    assert cli("completion", "tcsh").code == 2


def test_nothing_is_said_where_a_shell_asks(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would appear in the line that is typed."""
    monkeypatch.setenv(completion.VARIABLE, "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "fsdp2-lint chek --sel")
    monkeypatch.setenv("COMP_CWORD", "2")
    ran = cli()
    assert (ran.out, ran.err) == ("", "")


@pytest.fixture
def ask(cli: Cli, tmp_path: Path) -> Callable[..., str]:
    """Has a shell run some code, with its script for completion at hand and in a folder with the file train.py."""
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "fsdp2-lint"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fsdp2_lint "$@"\n')
    tool.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BASH")}
    environment["PATH"] = f"{tool.parent}{os.pathsep}{environment['PATH']}"
    environment["PYTHONPATH"] = str(ROOT)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "train.py").touch()

    def run(shell: str, *arguments: str) -> str:
        script = tmp_path / f"complete.{shell}"
        script.write_text(cli("completion", shell).out)
        command = [shell, *(each.replace("SCRIPT", str(script)) for each in arguments)]
        ran = subprocess.run(
            command, cwd=tmp_path / "work", env=environment, capture_output=True, text=True, timeout=60
        )
        assert ran.stderr == ""
        return ran.stdout

    return run


Ask = Callable[..., str]


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"needs {shell}")


@needs("bash")
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["check", "--select", "=", "FSDP70"], "FSDP701"),
        (["check", "--select", "="], "FSDP701"),
        (["check", "--ignore", "=", "FSDP601,naive"], "FSDP601,naive-torch-save"),
        (["check", "--select", "FSDP70"], "FSDP701"),
        (["check", "--target-torch", "=", "2.8", "--ignore", "=", "AL"], "ALL"),
        (["che"], "check"),
    ],
)
def test_bash_takes_an_option_and_its_value_apart(ask: Ask, words: list[str], wanted: str) -> None:
    code = (
        f"source SCRIPT; COMP_WORDS=(fsdp2-lint {' '.join(words)}); COMP_CWORD={len(words)};"
        ' _fsdp2_lint_completion fsdp2-lint; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    assert wanted in ask("bash", "--norc", "-c", code).splitlines()


# The line that a shell of its own has after the Tab key.
ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= ; autoload -Uz compinit; compinit -D -u; source SCRIPT
ready() { print -r -- REA''DY }; zle -N zle-line-init ready
show() { print -r -- \"<\"\"<\$BUFFER>\"\">\" }; zle -N show; bindkey '^X' show"
zpty -r shell seen '*READY*'
zpty -w -n shell "fsdp2-lint $1"$'\t\x18'
zpty -r shell seen '*<<*>>*'
print -r -- "${${seen##*<<}%%>>*}"
zpty -d shell
"""


@needs("zsh")
@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("check --select=FSDP60,FSDP80", "check --select=FSDP60,FSDP80"),
        ("check --select=FSDP601,naive", "check --select=FSDP601,naive-torch-save "),
        ("check --output-format=sar", "check --output-format=sarif "),
        ("verify --since=tr", "verify --since=train.py "),
        ("check --select FSDP60", "check --select FSDP60"),
        ("check tr", "check train.py "),
    ],
)
def test_zsh_keeps_the_option_before_its_value(ask: Ask, typed: str, wanted: str) -> None:
    assert ask("zsh", "-f", "-c", ZSH, "zsh", typed) == f"fsdp2-lint {wanted}\n"


@needs("fish")
@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("check --select=FSDP70", "--select=FSDP701\tnaive-torch-save"),
        ("check --select=FSDP601,naive", "--select=FSDP601,naive-torch-save\tFSDP701"),
        ("check --output-format=", "--output-format=sarif"),
        ("verify --since=tr", "--since=train.py"),
        ("check --select FSDP70", "FSDP701\tnaive-torch-save"),
        ("check tr", "train.py"),
    ],
)
def test_fish_completes_a_value_behind_its_option(ask: Ask, typed: str, wanted: str) -> None:
    assert wanted in ask("fish", "--no-config", "-c", f"source SCRIPT; complete -C 'fsdp2-lint {typed}'").splitlines()


@needs("fish")
def test_fish_shows_nothing_for_a_mistyped_command(ask: Ask) -> None:
    assert ask("fish", "--no-config", "-c", "source SCRIPT; complete -C 'fsdp2-lint chek --select='") == ""
