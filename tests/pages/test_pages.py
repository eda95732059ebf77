"""Every page's examples are checked, and mean what their marks say."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.catalogue import pages, registry
from fsdp2_lint.vocab.rule import Rule
from tests.pages.harness import Program, check_program, marks, programs
from tests.pages.shorten import shortened

RULES = registry.rules()
PROGRAMS = [
    pytest.param(rule, program, id=f"{rule.name}-{'good' if program.good else 'bad'}-{number}")
    for rule in RULES
    for number, program in enumerate(programs(registry.page(rule)), start=1)
]
HEADINGS = (
    "What it checks",
    "Why it matters",
    "What happens if you ignore it",
    "How to fix",
    "Wrong fixes",
    "Examples",
)


@pytest.mark.quick(200)
@pytest.mark.parametrize(("rule", "program"), PROGRAMS)
def test_program(rule: Rule, program: Program, tmp_path: Path) -> None:
    own = {mark.kind for mark in marks(program.files) if mark.code == rule.code}
    if program.good:
        assert not own, "a good example is marked with the clause that it shows"
    else:
        assert own - {"related"}, "a bad example must mark the clause that it shows"
    assert check_program(program.files, tmp_path) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_page_repeats_no_program(rule: Rule) -> None:
    page = registry.page(rule)
    assert shortened(page) == page, "`python -m tests.pages.shorten` writes what several programs have in common once"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_page_is_complete(rule: Rule) -> None:
    page = registry.page(rule)
    missing = [heading for heading in HEADINGS if f"\n## {heading}\n" not in page]
    assert not missing
    assert pages.items(page, "Wrong fixes") and pages.paragraphs(page, "How to fix")
    assert {program.good for program in programs(page)} == {True, False}, "at least one bad and one good program"
    assert all(program.files for program in programs(page)), "a heading without a program"
