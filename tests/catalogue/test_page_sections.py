"""Parts of a page, as programs take them."""

from __future__ import annotations

import pytest

from fsdp2_lint.catalogue import pages, registry
from fsdp2_lint.errors import UnknownCode

PAGE = """# FSDP999: a-name

The rule,
on two lines.

And more.

## How to fix

Do this:

```python
first()

## no heading
```

1. One
   thing.
2. Another.

| a | b |
|---|---|
| 1 | 2 |

### Details

Not a step.

## Wrong fixes

Words before.
- Do not do
  that.
- Nor that.

## Last
"""


def test_sections() -> None:
    assert pages.section(PAGE, "") == "The rule,\non two lines.\n\nAnd more."
    assert pages.section(PAGE, "Wrong fixes") == "Words before.\n- Do not do\n  that.\n- Nor that."
    assert "## no heading" in pages.section(PAGE, "How to fix")
    assert pages.section(PAGE, "Last") == pages.section(PAGE, "no heading") == ""


def test_items() -> None:
    assert pages.items(PAGE, "Wrong fixes") == ["Do not do that.", "Nor that."]
    assert pages.items(PAGE, "") == pages.items("", "Wrong fixes") == []


def test_paragraphs() -> None:
    assert pages.paragraphs(PAGE, "") == ["The rule, on two lines.", "And more."]
    assert pages.paragraphs(PAGE, "How to fix") == [
        "Do this:\nfirst()\n\n## no heading",
        "One thing.",
        "Another.",
        "| a | b |\n|---|---|\n| 1 | 2 |",
    ]
    assert pages.paragraphs("## X\n```\ncode\n```\n\nAfter.\n", "X") == ["code", "After."]
    assert pages.paragraphs("", "X") == []


@pytest.mark.parametrize("rule", registry.rules(), ids=lambda rule: rule.code)
def test_every_page_says_how_to_fix_and_how_not(rule: registry.Rule) -> None:
    page = pages.page_of(rule.code)
    steps, wrong = pages.paragraphs(page, "How to fix"), pages.items(page, "Wrong fixes")
    assert steps and wrong and not any("```" in words for words in (*steps, *wrong))
    assert all(words.startswith("Do not ") for words in wrong)


def test_pages_by_code_and_by_name() -> None:
    assert pages.page_of("fsdp601") == pages.page_of("optimizer-before-sharding")
    assert pages.page_of("invalid-syntax").startswith("# FSDP000: ")
    assert pages.page_of("FSDP001").startswith("# FSDP001: ")
    with pytest.raises(UnknownCode):
        pages.page_of("FSDP999")
    assert pages.page_if_any("FSDP999") == ""
