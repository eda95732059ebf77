"""What stays the same of a finding when lines move."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.files.source import Sources
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.fingerprints import base_of, with_fingerprints
from fsdp2_lint.lint import lint
from fsdp2_lint.settings import Settings
from fsdp2_lint.vocab.finding import Finding
from tests import fake

STATEMENTS = ("fully_shard(model)", "    fully_shard(block)", "optimizer = AdamW(model.parameters())", "x = {'a': 1}")
BETWEEN = st.lists(st.sampled_from(["", "    ", "# a comment", "        # fully_shard(model)", "\t"]), max_size=3)
TRAILING = st.sampled_from(["", "  ", "  # noqa: E501", "  # type: ignore", " # fully_shard(model)"])


def fingerprints(lines: list[str], found: list[Finding], path: str = "/project/train.py") -> list[str]:
    sources = Sources({path: "\n".join(lines).encode()})
    told = with_fingerprints(found, "/project", sources)
    rows = [finding.primary.site.row for finding in found]
    return [next(each.fingerprint for each in told if each.primary.site.row == row) for row in rows]


def found_on(rows: list[int], path: str = "/project/train.py") -> list[Finding]:
    return [fake.finding(fake.site(path, row)) for row in rows]


@given(st.lists(st.tuples(st.sampled_from(STATEMENTS), BETWEEN, TRAILING), min_size=1, max_size=6))
def test_blank_lines_comments_and_indents_change_nothing(
    parts: list[tuple[str, list[str], str]],
) -> None:
    plain = [statement for statement, _, _ in parts]
    spaced: list[str] = []
    rows = []
    for statement, between, trailing in parts:
        spaced += [*between, f"  {statement.replace(' = ', '  =  ')}{trailing}"]
        rows.append(len(spaced))
    before = fingerprints(plain, found_on([*range(1, len(plain) + 1)]))
    assert fingerprints(spaced, found_on(rows)) == before
    assert len({*before}) == len(before), "what is alike is counted"


def test_what_makes_findings_different() -> None:
    sources = Sources({"/project/a.py": b"f(a)\nf(b)\n", "/project/b.py": b"f(a)\n"})
    told = with_fingerprints(
        [
            fake.finding(fake.site("/project/a.py", 1)),
            fake.finding(fake.site("/project/a.py", 1), code="FSDP602"),
            fake.finding(fake.site("/project/a.py", 2)),
            fake.finding(fake.site("/project/b.py", 1)),
            fake.finding(fake.site("/project/gone.py", 1)),
        ],
        "/project",
        sources,
    )
    assert len({finding.fingerprint for finding in told}) == 5
    assert all(len(finding.fingerprint) == 16 for finding in told)


def test_an_equal_line_above_takes_the_first_place_and_the_others_keep_theirs_in_number() -> None:
    one = fingerprints(["f()"], found_on([1]))
    two = fingerprints(["f()", "f()"], found_on([1, 2]))
    assert two[0] == one[0] and two[1] != one[0]


def test_paths_and_texts_that_are_no_unicode_have_fingerprints_too() -> None:
    odd = os.fsdecode(b"/project/\xff.py")
    surrogates = b"# coding: utf-7\nf('+2AA-')\n"
    sources = Sources({odd: b"f()\n", "/project/seven.py": surrogates})
    found = [*found_on([1], odd), *found_on([2], "/project/seven.py")]
    assert len({finding.fingerprint for finding in with_fingerprints(found, "/project", sources)}) == 2


PRIVATE = "from torch.distributed._composable.fsdp import fully_shard\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two projects in one repository, with the same fault in both."""
    for name in ("train.py", "inner/train.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(PRIVATE)
    (tmp_path / ".git").mkdir()
    (tmp_path / "inner" / "pyproject.toml").touch()
    return tmp_path


def told(path: Path) -> dict[str, str]:
    return {finding.primary.site.path: finding.fingerprint for finding in lint([str(path)]).findings}


@pytest.mark.parametrize("settings", ["", "zero2 = true\n"])
def test_they_do_not_depend_on_which_part_is_checked(project: Path, settings: str) -> None:
    if settings:
        (project / "fsdp2-lint.toml").write_text(settings)
    whole = told(project)
    assert len({*whole.values()}) == 2
    for part in (project / "inner", project / "inner" / "train.py", project / "train.py"):
        assert told(part).items() <= whole.items()


def test_they_are_relative_to_the_settings_and_else_to_the_repository(project: Path) -> None:
    inner = str(project / "inner")
    assert base_of(inner, Settings()) == str(project)
    assert base_of(inner, Settings(file=project / "inner" / "pyproject.toml")) == inner
    (project / "inner" / ".git").write_text("gitdir: ../.git/modules/inner\n")
    assert base_of(inner, Settings()) == inner


def test_findings_about_files_and_comments_have_them_too(project: Path) -> None:
    (project / "bad.py").write_text("def f(:\n")
    (broken,) = told(project / "bad.py").values()
    (project / "bad.py").write_text("x = 1  # fsdp2-lint: ignore[FSDP601]\n")
    unused = told(project)[str(project / "bad.py")]
    assert len(broken) == len(unused) == 16 and broken != unused


def test_they_do_not_depend_on_what_is_selected(project: Path) -> None:
    (project / "train.py").write_text(PRIVATE * 2)
    all_of_them = {finding.fingerprint for finding in lint([str(project)]).findings}
    some = {finding.fingerprint for finding in lint([str(project)], Asked(select=["FSDP901"])).findings}
    assert some and some <= all_of_them
