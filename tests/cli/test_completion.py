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


def test_fish_gets_all_codes_of_a_list(cli: Cli) -> None:
    assert 'string split --max 1 "," $completion' in cli("completion", "fish").out


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
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
def test_bash_takes_an_option_and_its_value_apart(cli: Cli, tmp_path: Path, words: list[str], wanted: str) -> None:
    (tmp_path / "complete.sh").write_text(cli("completion", "bash").out)
    tool = tmp_path / "fsdp2-lint"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fsdp2_lint "$@"\n')
    tool.chmod(0o755)
    ask = (
        f"source {tmp_path}/complete.sh; COMP_WORDS=(fsdp2-lint {' '.join(words)}); COMP_CWORD={len(words)};"
        f' _fsdp2_lint_completion {tool}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BASH")}
    said = subprocess.run(["bash", "--norc", "-c", ask], env=environment, capture_output=True, text=True, timeout=60)
    assert wanted in said.stdout.splitlines(), said
