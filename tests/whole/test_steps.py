"""A check of known programs takes no more work than it did, in numbers that are the same on every machine.

Where more is meant, or much less was reached, ``python -m tests.whole.steps`` records the numbers anew.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.whole.steps import TREES, counted, recorded

MORE = 1.03
LESS = 0.5  # a record twice as high as what is needed guards nothing, and neither does a count that misses its calls


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="recorded under 3.11; others have other syntax trees")
@pytest.mark.parametrize("tree", TREES)
def test_a_check_takes_no_more_than_it_did(tree: str, tmp_path: Path) -> None:
    known, found = recorded()[tree], counted(tree, tmp_path)
    assert found.keys() == known.keys()
    wrong = {what: (known[what], now) for what, now in found.items() if not LESS <= now / known[what] <= MORE}
    assert not wrong, "recorded, now"


def test_the_record_is_of_these_trees() -> None:
    assert tuple(recorded()) == TREES
