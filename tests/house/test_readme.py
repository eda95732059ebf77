"""What the README promises."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from fsdp2_lint.cli import invoke, main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_two_set_up_commands_and_ci_runs_the_second() -> None:
    set_up = README.split("\n## Set up\n")[1].split("\n## ")[0]
    first, second = re.findall(r"```sh\n(.*?)\n```", set_up, re.DOTALL)
    assert first.endswith("fsdp2-lint check examples") and "\n" not in first + second
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    # Slow tests are jobs that wait: there are more of them than processors.
    slow = second.rpartition(" && ")[2].replace("-n 2", "-n 4")
    assert second in lines and lines[-1] == f"{slow} -m slow"


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
    """In the repository, as people read the pages there; the site has its own (``test_site.py``)."""
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "rules" / "README.md"):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_it_is_short_and_leads_to_each_page() -> None:
    assert len(README.encode()) < 5_500, "details are in docs/, each once"
    linked = set(re.findall(r"\]\(docs/([\w-]+\.md)\)", README))
    of_developers = {"index.md", "engine.md", "budgets.md"}
    assert linked == {path.name for path in (ROOT / "docs").glob("*.md")} - of_developers


def test_its_calls_use_commands_and_options_that_exist() -> None:
    (calls,) = re.findall(r"```sh\n(fsdp2-lint check .*?)```", README, re.DOTALL)
    for line in calls.splitlines():
        command, *rest = line.split("  #")[0].split()[1:]
        found = main.get_command(None, command)  # type: ignore[arg-type]
        assert found is not None
        known = {name for each in found.params for name in each.opts}
        assert {word for word in rest if word.startswith("-")} <= known, line
