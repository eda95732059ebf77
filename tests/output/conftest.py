"""Findings for the formats: a small story, one with a fix, and any at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import strategies as st

from fsdp2_lint.vocab.finding import Edit, Finding, Fix, Label, Observed, Severity, Site
from tests import fake

T = TypeVar("T")


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Finding:
    """Over three files, one of them elsewhere. The current folder is where the other two lie."""
    monkeypatch.chdir(tmp_path)
    return fake.finding(
        fake.site(tmp_path / "train.py", 4, 17, 4, 42),
        (fake.site(tmp_path / "pkg" / "parallel.py", 2, 5, 3, 6), "replaces them"),
        (fake.site("/elsewhere/lib.py", 7), "called here"),
    )


@pytest.fixture
def mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Finding:
    """A warning of one file, with a fix."""
    monkeypatch.chdir(tmp_path)
    at = fake.site(tmp_path / "train.py", 3, 1, 3, 20)
    finding = fake.finding(at, code="FSDP901", name="private-import-path", severity=Severity.WARNING)
    return replace(finding, fix=Fix((Edit(at, "from torch.distributed.fsdp import fully_shard"),)), fingerprint="f00d")


texts = st.text("ab é%\r\n:,|[]()\\{}<>&\x1b\u202e\ufffe\ud800", max_size=12) | st.text(max_size=6)
paths = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)
numbers = st.integers(1, 40)
sites = st.builds(
    lambda path, *place: Site(f"/nowhere/{path}", *place),
    *(paths, numbers, numbers, st.integers(0, 9), st.integers(0, 40), st.sampled_from([0, 0, 3])),
)
labels = st.builds(Label, sites, texts)
edits = st.builds(Edit, sites, texts)


def tuples(of: st.SearchStrategy[T], least: int = 0) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(of, min_size=least, max_size=2).map(tuple)


findings = st.builds(
    Finding,
    code=st.sampled_from(["FSDP000", "FSDP001", "FSDP601", "FSDP907", "FSDP999"]),
    name=st.just("a-name"),
    severity=st.sampled_from(Severity),
    message=texts,
    primary=labels,
    help=texts,
    related=tuples(labels),
    fix=st.none() | st.builds(Fix, tuples(edits, 1)),
    observed=st.none() | st.builds(Observed, st.just((0, 1)), st.just(2), texts),
    fingerprint=st.sampled_from(["", "beef"]),
)
any_findings = st.lists(findings, max_size=3)
