"""What is said of a rank that went without a last word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fsdp2_lint.report.codec import site_as_json
from fsdp2_lint.report.hangs.farewells import Farewell, farewell, in_notes
from fsdp2_lint.vocab.finding import NOWHERE, Site


@pytest.mark.parametrize(
    ("at", "told"), [(Site("train.py", 7), ", and last stood at train.py:7"), (NOWHERE, "")], ids=["seen", "nowhere"]
)
def test_where_it_stood_is_said_if_anybody_knows(at: Site, told: str, tmp_path: Path) -> None:
    gone = farewell(1, tmp_path / "rank1.jsonl", [], [{"record": "gone", "at": site_as_json(at), "time": 5.0}])
    assert gone is not None
    (note,) = in_notes([gone], [])
    assert note.startswith("rank 1 was gone at ") and note.endswith(told) and ("stood" in note) is bool(told)


LINE = Site("train.py", 7)


@pytest.mark.parametrize(
    ("alive", "at", "told"),
    [
        (6.0, LINE, r"rank 1 was gone first, at [\d:]+, and last stood at train.py:7"),
        (4.0, LINE, r"ranks 0-1 were gone at [\d:]+, and last stood at train.py:7: which .* first was not seen"),
        (4.0, Site("train.py", 9), r"ranks 0-1 were gone at [\d:]+: which of them went first was not seen"),
    ],
    ids=["was still there", "not seen again", "stood elsewhere"],
)
def test_who_went_first_was_seen_or_is_not_said(alive: float, at: Site, told: str) -> None:
    """Two that are gone at one look are asked one after the other: that order says nothing."""
    (note,) = in_notes([Farewell(0, at, time=7.0, alive=alive), Farewell(1, LINE, time=5.0, alive=3.0)], [])
    assert re.fullmatch(told, note)


def test_who_may_have_failed_by_itself_before_is_first() -> None:
    assert in_notes([Farewell(1, LINE, time=5.0, alive=3.0)], [4.0]) == []


def test_a_signal_says_more_than_who_was_first() -> None:
    (note,) = in_notes([Farewell(0, LINE, 5.0, 3.0, "Fatal Python error: Aborted"), Farewell(1, LINE, 5.0, 3.0)], [])
    assert note == "rank 0 was ended by a signal at train.py:7: Fatal Python error: Aborted"
