"""What reviewdog reads: https://github.com/reviewdog/reviewdog/blob/master/proto/rdf/reviewdog.proto."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given

from fsdp2_lint.files.source import Sources
from fsdp2_lint.output import render
from fsdp2_lint.vocab.finding import Edit, Finding, Fix
from tests import fake
from tests.output.conftest import any_findings


def diagnostic(finding: Finding) -> dict[str, Any]:
    (one,) = json.loads(render("rdjson", [finding], Sources()))["diagnostics"]
    return one


def test_a_story(story: Finding) -> None:
    told = json.loads(render("rdjson", [story], Sources()))
    assert told == {
        "source": {"name": "fsdp2-lint", "url": "https://fsdp2-lint.github.io/fsdp2-lint/"},
        "diagnostics": [
            {
                "message": f"{story.message}\nhelp: {story.help}",
                "location": {
                    "path": "train.py",
                    "range": {"start": {"line": 4, "column": 17}, "end": {"line": 4, "column": 42}},
                },
                "severity": "ERROR",
                "code": {"value": "FSDP601", "url": story.url},
                "related_locations": [
                    {
                        "message": "replaces them",
                        "location": {
                            "path": "pkg/parallel.py",
                            "range": {"start": {"line": 2, "column": 5}, "end": {"line": 3, "column": 6}},
                        },
                    },
                    {
                        "message": "called here",
                        "location": {"path": "/elsewhere/lib.py", "range": {"start": {"line": 7, "column": 1}}},
                    },
                ],
            }
        ],
    }


def test_columns_are_counted_in_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("größe = 1; x = '𐐀'; y = 2\n", encoding="utf-8")
    told = diagnostic(fake.finding(fake.site(tmp_path / "a.py", 1, 17, 1, 20)))
    assert told["location"]["range"] == {"start": {"line": 1, "column": 19}, "end": {"line": 1, "column": 25}}


def test_a_fix_is_suggested_if_it_is_one_edit_of_the_same_file(mended: Finding) -> None:
    (suggestion,) = diagnostic(mended)["suggestions"]
    assert suggestion == {
        "range": {"start": {"line": 3, "column": 1}, "end": {"line": 3, "column": 20}},
        "text": "from torch.distributed.fsdp import fully_shard",
    }
    assert mended.fix is not None
    (edit,) = mended.fix.edits
    there = Edit(fake.site("/elsewhere/lib.py", 1, 1, 1, 1), "x")
    assert "suggestions" not in diagnostic(replace(mended, fix=Fix((edit, edit))))
    assert "suggestions" not in diagnostic(replace(mended, fix=Fix((there,))))


@given(any_findings)
def test_any_finding_has_a_place(found: list[Finding]) -> None:
    told = json.loads(render("rdjson", found, Sources()))["diagnostics"]
    assert len(told) == len(found)
    for one in told:
        place = one["location"]["range"]
        assert place["start"]["line"] >= 1
        end = place.get("end", place["start"])
        assert (place["start"]["line"], place["start"].get("column", 0)) <= (end["line"], end.get("column", 0))
