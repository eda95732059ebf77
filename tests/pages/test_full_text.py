"""The whole text of a finding of each clause: story, spans and help are what people read.

Where a change is meant, ``python -m tests.pages.full_text`` writes the files anew.
"""

from __future__ import annotations

import pytest

from fsdp2_lint.vocab.rule import Rule
from tests.pages.full_text import FOLDER, RULES, path_of, text_of


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_text(rule: Rule) -> None:
    text = text_of(rule)
    assert text.startswith(f"{rule.code} ") and f" {rule.name}: " in text
    assert text == path_of(rule).read_text(encoding="utf-8")


def test_nothing_else_lies_there() -> None:
    assert sorted(FOLDER.iterdir()) == sorted(map(path_of, RULES))
