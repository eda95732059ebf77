"""What the README promises."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from fsdp2_lint.cli import invoke

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_two_set_up_commands_and_ci_runs_the_second() -> None:
    set_up = README.split("\n## Set up\n")[1].split("\n## ")[0]
    first, second = re.findall(r"```sh\n(.*?)\n```", set_up, re.DOTALL)
    assert first.endswith("fsdp2-lint check examples") and "\n" not in first + second
    assert second == (ROOT / ".ci" / "run").read_text().splitlines()[-1]


def test_the_sample_is_real(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """With UPDATE_README=1 the sample is written anew."""
    (sample,) = re.findall(r"```console\n\$ fsdp2-lint (.*?)\n(.*?)```", README, re.DOTALL)
    command, shown = sample
    monkeypatch.chdir(ROOT)
    code = invoke(command.split())
    said = capfd.readouterr()
    assert code == 1, said.err
    output = f"{said.out.strip()}\n"
    if os.environ.get("UPDATE_README"):
        (ROOT / "README.md").write_text(README.replace(f"{command}\n{shown}```", f"{command}\n{output}```"))
    else:
        assert output == shown


def test_relative_links_lead_somewhere() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / name).read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{name}: {target}"
