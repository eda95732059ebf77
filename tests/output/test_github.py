"""Workflow commands of GitHub Actions."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from fsdp2_lint.files.source import Sources
from fsdp2_lint.output import render
from fsdp2_lint.output.terminal import printable
from fsdp2_lint.output.words import story as words
from fsdp2_lint.vocab.finding import Finding, Severity
from tests import fake
from tests.output.conftest import any_findings


def read(line: str) -> tuple[str, dict[str, str], str]:
    """A command as the runner reads it: its name, its properties and its data."""
    command, data = line.removeprefix("::").split("::", 1)
    name, _, listed = command.partition(" ")
    properties = dict(each.split("=", 1) for each in listed.split(","))
    for escape, char in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        properties = {key: value.replace(escape, char) for key, value in properties.items()}
        if escape not in ("%3A", "%2C"):
            data = data.replace(escape, char)
    return name, properties, data


def test_a_story(story: Finding, tmp_path: Path) -> None:
    assert render("github", [story], Sources()) == (
        f"::error title=fsdp2-lint (FSDP601),file={tmp_path}/train.py,line=4,col=17,endLine=4,endColumn=42"
        "::train.py:4:17: FSDP601 the optimizer holds parameters that fully_shard replaces"
        "%0A  pkg/parallel.py:2: replaces them%0A  /elsewhere/lib.py:7: called here"
        "%0A  help: build it after the last fully_shard\n"
    )


@pytest.mark.parametrize("severity, command", [*zip(Severity, ("error", "warning", "notice"))])
def test_severities(severity: Severity, command: str) -> None:
    finding = fake.finding(fake.site("/a.py", 1), severity=severity)
    assert render("github", [finding], Sources()).startswith(f"::{command} title=")


@pytest.mark.parametrize(
    ("at", "properties"),
    [
        ((4, 17, 4, 42), "line=4,col=17,endLine=4,endColumn=42"),
        ((4, 17, 6, 2), "line=4,endLine=6"),  # the runner drops columns of what spans several lines
        ((4, 17), "line=4,col=17"),
        ((4, 17, 2, 9), "line=4,col=17"),
    ],
)
def test_places(at: tuple[int, ...], properties: str) -> None:
    text = render("github", [fake.finding(fake.site("/a.py", *at))], Sources())
    assert text.startswith(f"::error title=fsdp2-lint (FSDP601),file=/a.py,{properties}::/a.py:4:17: ")


def test_a_cell_of_a_file_that_is_not_there_has_the_first_row() -> None:
    text = render("github", [fake.finding(replace(fake.site("/a.ipynb", 4, 2), cell=3))], Sources())
    assert text.startswith("::error title=fsdp2-lint (FSDP601),file=/a.ipynb,line=1::/a.ipynb:cell 3:4:2: ")


def test_escapes() -> None:
    bad = fake.finding(fake.site("/a:b,c%0A.py", 1), message="50 %, 1:2", help="a\nb")
    text = render("github", [bad], Sources())
    assert ",file=/a%3Ab%2Cc%250A.py,line=1" in text
    assert "FSDP601 50 %25, 1:2%0A  help: a b\n" in text


@given(any_findings)
def test_commands_read_back_to_what_they_say(found: list[Finding]) -> None:
    lines = render("github", found, Sources()).split("\n")
    assert lines.pop() == "" and len(lines) == len(found)
    for finding, line in zip(found, lines):
        name, properties, data = read(line)
        assert name == {"info": "notice"}.get(finding.severity.value, finding.severity.value)
        path = finding.primary.site.path
        assert properties["file"] == "".join(each if each in "\r\n" else printable(each) for each in path)
        assert properties["title"] == f"fsdp2-lint ({finding.code})"
        assert data == words(finding) and not re.search("[\r\x1b\u202e]", data)
