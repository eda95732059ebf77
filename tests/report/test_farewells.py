"""What is said of a rank that went without a last word."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.report.codec import site_as_json
from fsdp2_lint.report.hangs.farewells import farewell, in_notes
from fsdp2_lint.vocab.finding import NOWHERE, Site


@pytest.mark.parametrize(
    ("at", "told"), [(Site("train.py", 7), ", and last stood at train.py:7"), (NOWHERE, "")], ids=["seen", "nowhere"]
)
def test_where_it_stood_is_said_if_anybody_knows(at: Site, told: str, tmp_path: Path) -> None:
    gone = farewell(1, tmp_path / "rank1.jsonl", [], [{"record": "gone", "at": site_as_json(at), "time": 5.0}])
    assert gone is not None
    (note,) = in_notes([gone], [])
    assert note.startswith("rank 1 was gone at ") and note.endswith(told) and ("stood" in note) is bool(told)
