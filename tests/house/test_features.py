"""The table of features names tests and files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "tests" / "house" / "features.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in row.split("|")[1:-1]] for row in re.findall(r"^\| [^-].*$", TABLE, re.MULTILINE)][1:]


@pytest.mark.parametrize(("feature", "want", "where", "tests"), ROWS, ids=[row[0] for row in ROWS])
def test_a_row(feature: str, want: str, where: str, tests: str) -> None:
    assert want in ("M", "S")
    named = re.findall(r"`(tests/[^`]+)`", tests)
    assert named or (where == "not built" and tests), "untested, and no reason is given"
    for test in named:
        path, _, name = test.partition("::")
        assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), test
    for path in re.findall(r"`([^`]+)`", where):
        folder = ROOT if path.startswith((".pre", "action.", "docs", "mkdocs", "rules")) else ROOT / "fsdp2_lint"
        assert any(folder.glob(path.rstrip("/"))), path


def test_the_other_tests_exist() -> None:
    assert all((ROOT / path.partition("::")[0]).is_file() for path in re.findall(r"`(tests/[^`]+\.py[^`]*)`", TABLE))
