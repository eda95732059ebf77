"""The format for coding agents: one line per finding, with a limit."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given

from fsdp2_lint.files.source import Sources
from fsdp2_lint.output import render
from fsdp2_lint.output.agent import LONGEST
from fsdp2_lint.vocab.finding import Finding, Observed
from tests import fake
from tests.output.conftest import any_findings


def agent(*findings: Finding) -> list[str]:
    text = render("agent", findings, Sources(), color=True)
    assert text.endswith("\n")
    return text.split("\n")[:-1]


def test_lines(story: Finding, mended: Finding) -> None:
    assert agent(story, mended) == [
        "train.py:4:17: error FSDP601 optimizer-before-sharding: the optimizer holds parameters that fully_shard"
        " replaces | related pkg/parallel.py:2 replaces them; /elsewhere/lib.py:7 called here"
        " | fix: build it after the last fully_shard | explain: fsdp2-lint explain FSDP601",
        "train.py:3:1: warning FSDP901 private-import-path: the optimizer holds parameters that fully_shard replaces"
        " | fix: build it after the last fully_shard (safe fix: --fix) | explain: fsdp2-lint explain FSDP901",
        "2 findings (1 error, 1 warning)",
    ]


def test_the_last_line_counts(story: Finding) -> None:
    assert agent() == ["0 findings"]
    assert agent(story)[-1] == "1 finding (1 error)"


def test_what_is_not_shown_counts_too(story: Finding) -> None:
    told = render("agent", [story], Sources(), left_out=[story, story])
    assert told.splitlines()[-1] == "3 findings (3 errors); 2 of them not shown"


def test_an_unsafe_fix_says_so(mended: Finding) -> None:
    assert mended.fix is not None
    line, _ = agent(replace(mended, fix=replace(mended.fix, safe=False)))
    assert " (unsafe fix: --fix --unsafe-fixes) | explain: " in line


def test_what_a_job_saw(story: Finding) -> None:
    line, _ = agent(replace(story, observed=Observed((0, 1), 2), standing="confirmed at run time"))
    assert " | seen: ranks 0-1, step 2 | seen: confirmed at run time | fix: " in line


def test_related_places_are_limited(story: Finding) -> None:
    many = [(fake.site("/elsewhere/lib.py", row), "also") for row in range(1, 8)]
    line, _ = agent(fake.finding(story.primary.site, *many))
    assert "/elsewhere/lib.py:4 also; 3 more | fix: " in line and "lib.py:5" not in line


def test_places_that_do_not_fit_are_counted(story: Finding) -> None:
    long = [(fake.site(f"/{'x' * 120}.py", row), "also") for row in range(1, 4)]
    line, _ = agent(fake.finding(story.primary.site, *long))
    assert len(line) <= LONGEST and line.count("x.py:") == 2 and "x.py:2 also; 1 more | fix: " in line


@pytest.mark.parametrize("part", ["message", "help", "label", "path"])
def test_long_words_are_cut_and_the_way_out_stays(story: Finding, part: str) -> None:
    at = fake.site("/x" * 900 if part == "path" else "/a.py", 4)
    related = (fake.site("/b.py", 1), "word " * 500 if part == "label" else "also")
    words = {part: "word " * 500} if part in ("message", "help") else {}
    line, _ = agent(fake.finding(at, related, **words))
    assert len(line) <= LONGEST and ("…" in line) == (part != "label")
    assert " | fix: " in line and line.endswith(" | explain: fsdp2-lint explain FSDP601")


@pytest.mark.slow
@given(any_findings)
def test_anything_is_one_bounded_line(found: list[Finding]) -> None:
    lines = agent(*found)
    assert len(lines) == len(found) + 1
    for line in lines:
        assert len(line) <= LONGEST
        assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in line)
