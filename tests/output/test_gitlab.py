"""GitLab's code quality report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from fsdp2_lint.files.source import Sources
from fsdp2_lint.output import render
from fsdp2_lint.vocab.finding import Finding, Severity
from tests import fake
from tests.output.conftest import any_findings


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI_PROJECT_DIR", raising=False)


def gitlab(*findings: Finding) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(render("gitlab", findings, Sources()))
    return told


def test_a_story(story: Finding) -> None:
    (one,) = gitlab(story)
    assert len(one.pop("fingerprint")) == 64
    assert one == {
        "check_name": "FSDP601",
        "description": (
            "the optimizer holds parameters that fully_shard replaces; pkg/parallel.py:2: replaces them;"
            " /elsewhere/lib.py:7: called here; help: build it after the last fully_shard"
        ),
        "severity": "major",
        "location": {
            "path": "train.py",
            "positions": {"begin": {"line": 4, "column": 17}, "end": {"line": 4, "column": 42}},
        },
    }


def test_severities(story: Finding) -> None:
    each = [replace(story, severity=severity) for severity in Severity]
    assert [one["severity"] for one in gitlab(*each)] == ["major", "minor", "info"]


def test_fingerprints_stay_where_lines_move_and_are_unique(story: Finding) -> None:
    moved = replace(story, primary=replace(story.primary, site=replace(story.primary.site, row=9)))
    first, second = (replace(each, fingerprint="f00d") for each in (story, moved))
    assert gitlab(first)[0]["fingerprint"] == gitlab(second)[0]["fingerprint"]
    one, other = gitlab(first, second)
    assert one["fingerprint"] != other["fingerprint"]
    # Without fingerprints, as a job reports: what differs is told apart all the same.
    assert gitlab(story)[0]["fingerprint"] != gitlab(moved)[0]["fingerprint"]


def test_paths_are_relative_to_the_checkout(story: Finding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pkg").mkdir()
    monkeypatch.chdir(tmp_path / "pkg")
    elsewhere = fake.finding(fake.site("/elsewhere/lib.py", 7))
    assert [one["location"]["path"] for one in gitlab(story, elsewhere)] == [
        str(tmp_path / "train.py"),
        "/elsewhere/lib.py",
    ]
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path))
    assert [one["location"]["path"] for one in gitlab(story, elsewhere)] == ["train.py", "/elsewhere/lib.py"]


def test_places_without_an_end_and_in_cells() -> None:
    at = fake.site("/a.py", 4, 2)
    first, second = gitlab(fake.finding(at), fake.finding(replace(at, cell=3)))
    assert first["location"]["positions"]["end"] == {"line": 4, "column": 2}
    assert second["location"]["positions"]["begin"] == {"line": 1, "column": 1}
    assert second["description"].startswith("/a.py:cell 3:4:2: the optimizer holds ")


@given(any_findings)
def test_any_finding_is_an_entry_of_its_own(found: list[Finding]) -> None:
    told = gitlab(*found)
    assert len({one["fingerprint"] for one in told}) == len(told) == len(found)
    for one in told:
        begin, end = (one["location"]["positions"][name] for name in ("begin", "end"))
        assert (begin["line"], begin["column"]) <= (end["line"], end["column"])
