"""A file of findings that are known: what is written hides exactly that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.errors import BadSetting
from fsdp2_lint.files.discovery import Discovered
from fsdp2_lint.findings.baseline import Baseline, Entry, as_text
from fsdp2_lint.vocab.finding import Finding
from tests import fake

TEXT = st.text(max_size=8)


@given(st.lists(st.builds(Entry, TEXT, st.sampled_from(["FSDP601", "FSDP602"]), TEXT, TEXT)))
def test_what_is_written_is_read_in_any_order(tmp_path_factory: pytest.TempPathFactory, entries: list[Entry]) -> None:
    file = tmp_path_factory.mktemp("baseline") / "baseline.json"
    text = as_text(entries)
    file.write_text(text, encoding="utf-8")
    held = Baseline.read(file)
    assert {*held.entries} == {*entries} and len(held.entries) == len({*entries})
    assert as_text(reversed(held.entries)) == text, "the same findings give the same file"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a baseline"),
        ("[]", "is not a baseline"),
        ("{}", "is not a baseline"),
        ("<<<<<<< HEAD\n{}", "is not a baseline"),
        ('{"version": 1}', "is not a baseline"),
        ('{"version": 1, "findings": [{"fingerprint": "a"}]}', "is not a baseline"),
        ('{"version": 1, "findings": ["a"]}', "is not a baseline"),
        ('{"version": 1, "findings": 3}', "is not a baseline"),
        ("\udcff", "is not a baseline"),
        ('{"version": 2, "findings": []}', "is of version 2, and this tool reads 1"),
    ],
)
def test_what_is_no_baseline_is_said(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(BadSetting) as raised:
        Baseline.read(file)
    assert str(raised.value).startswith(f"{file}: {words}") and "\n" not in str(raised.value)


def test_a_baseline_that_is_not_there_or_a_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="there is no such baseline; --update-baseline writes it"):
        Baseline.read(tmp_path / "none.json")
    with pytest.raises(BadSetting, match="the baseline cannot be read: Is a directory"):
        Baseline.read(tmp_path)


def known(path: Path, code: str = "FSDP601", fingerprint: str = "") -> Finding:
    return replace(fake.finding(fake.site(path, 1), code=code), fingerprint=fingerprint or f"{code} in {path.name}")


def test_what_a_run_says_nothing_of(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    a, b, gone = root / "a.py", root / "b.py", root / "gone.py"
    a.touch()
    b.touch()
    findings = [known(a), known(a, "FSDP602"), known(b), known(gone), known(tmp_path / "other.py")]
    (tmp_path / "ci").mkdir()
    entries = tuple(Entry.of(finding, tmp_path / "ci") for finding in findings)
    assert [entry.path for entry in entries] == [f"../project/{name}.py" for name in ("a", "a", "b", "gone")] + [
        "../other.py"
    ]
    held = Baseline(tmp_path / "ci" / "baseline.json", entries)
    both, codes = Discovered(files=[str(a), str(b)], given={str(root)}), {"FSDP601", "FSDP602"}
    assert held.gone([], codes, both) == [*entries[:4]], "of another folder nothing is said, whether or not it is there"
    assert held.gone([known(a)], {"FSDP601"}, both) == [entries[2], entries[3]], "of this project and this code"
    assert held.gone([], codes, Discovered(files=[str(a)], given={str(a)})) == [*entries[:2]]
    assert held.gone([], codes, Discovered(files=[str(a)], given={str(root)})) == [*entries[:2], entries[3]], (
        "what is there and was left out stays"
    )
