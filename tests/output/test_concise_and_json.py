"""The formats for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fsdp2_lint.output import count, render
from fsdp2_lint.source import Sources
from fsdp2_lint.vocab.finding import Finding, Severity
from tests import fake


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Finding:
    monkeypatch.chdir(tmp_path)
    return fake.finding(
        fake.site(tmp_path / "train.py", 4, 17, 4, 42),
        (fake.site(tmp_path / "pkg" / "parallel.py", 2, 5, 3, 6), "replaces them"),
        (fake.site("/elsewhere/lib.py", 7), "called here"),
    )


def test_concise(story: Finding) -> None:
    assert render("concise", [story], Sources()) == (
        "train.py:4:17: FSDP601 error the optimizer holds parameters that fully_shard replaces"
        " [optimizer-before-sharding] (see pkg/parallel.py:2, /elsewhere/lib.py:7)\n"
    )


def test_json(story: Finding, tmp_path: Path) -> None:
    (one,) = json.loads(render("json", [story], Sources()))
    assert one == {
        "code": "FSDP601",
        "name": "optimizer-before-sharding",
        "severity": "error",
        "confidence": "high",
        "message": "the optimizer holds parameters that fully_shard replaces",
        "filename": str(tmp_path / "train.py"),
        "location": {"row": 4, "column": 17},
        "end_location": {"row": 4, "column": 42},
        "related": [
            {
                "message": "replaces them",
                "filename": str(tmp_path / "pkg" / "parallel.py"),
                "location": {"row": 2, "column": 5},
                "end_location": {"row": 3, "column": 6},
            },
            {
                "message": "called here",
                "filename": "/elsewhere/lib.py",
                "location": {"row": 7, "column": 1},
                "end_location": {"row": 7, "column": 1},
            },
        ],
        "help": "build it after the last fully_shard",
        "fix": None,
        "url": story.url,
    }


def test_no_findings() -> None:
    assert render("concise", [], Sources()) == "" == render("full", [], Sources())
    assert render("json", [], Sources()) == "[]\n"


def test_count() -> None:
    at = fake.site("/a.py", 1)
    each = {severity: fake.finding(at, severity=severity) for severity in Severity}
    assert count([]) == "no findings"
    assert count([each[Severity.INFO], each[Severity.ERROR], each[Severity.ERROR]]) == "2 errors, 1 info"
    assert count([each[Severity.WARNING]]) == "1 warning"
