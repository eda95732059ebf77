"""The skill that is shipped for coding agents: its form, and that what it tells them to run exists."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from fsdp2_lint.cli import COMMANDS, main

SKILL = Path(__file__).parents[2] / "fsdp2_lint" / ".agents" / "skills" / "fsdp2-lint" / "SKILL.md"
TEXT = SKILL.read_text(encoding="utf-8")
_, HEAD, BODY = TEXT.split("---\n", 2)
CALLS = [
    line.split("fsdp2-lint ", 1)[-1] if "fsdp2-lint " in line else line.split("-m fsdp2_lint ", 1)[1]
    for line in re.findall(r"^ *((?:torchrun .*|fsdp2-lint) .*)$", BODY, re.MULTILINE)
]


def test_its_form() -> None:
    """As agentskills.io has it."""
    fields = dict(line.split(": ", 1) for line in HEAD.splitlines())
    assert fields["name"] == SKILL.parent.name == "fsdp2-lint"
    assert 0 < len(fields["description"]) <= 1024 and "Use it" in fields["description"]
    assert len(fields["compatibility"]) <= 500 and set(fields) <= {"name", "description", "license", "compatibility"}
    assert len(BODY.splitlines()) < 500


@pytest.mark.parametrize("call", CALLS)
def test_what_it_tells_to_run(call: str) -> None:
    name, *arguments = call.partition("  #")[0].split()
    assert name in COMMANDS
    command = main.get_command(click.Context(main), name)
    assert command is not None
    options = {text for parameter in command.params for text in parameter.opts}
    assert {argument for argument in arguments if argument.startswith("-")} <= options


def test_the_whole_loop_is_there() -> None:
    assert {call.split()[0] for call in CALLS} == {"check", "verify", "contract", "run"}
    assert "fsdp2-lint explain" in BODY and "--fix" in BODY
