"""Findings of another copy of the project: files are the same where their paths below it are."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fsdp2_lint.errors import Refusal
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.copies import as_here, moved
from fsdp2_lint.findings.verify import Comparison, compare
from fsdp2_lint.lint import lint
from fsdp2_lint.report.codec import finding_as_json, finding_from_json
from fsdp2_lint.vocab.finding import Finding, Label, Project, Seen
from tests import fake

EXAMPLE = Path(__file__).parents[2] / "examples" / "broken" / "optimizer_before_sharding"
EARLY = "    optimizer = build_optimizer(model, lr=1e-2)  # error: [FSDP601]\n"
SHARDED = "    parallelize(model, mesh)\n"
SIGN = "pyproject.toml"


@pytest.fixture
def copies(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("a", "b"):
        shutil.copytree(EXAMPLE, tmp_path / name)
        (tmp_path / name / SIGN).touch()
    return tmp_path / "a", tmp_path / "b"


def found(project: Path) -> list[Finding]:
    """As a file keeps them."""
    return [finding_from_json(finding_as_json(each)) for each in lint([str(project)]).findings]


def verified(before: Sequence[Finding], *paths: Path) -> Comparison:
    return compare(before, [str(path) for path in paths], Asked(), lint)


def mend(project: Path) -> None:
    text = (project / "train.py").read_text()
    (project / "train.py").write_text(text.replace(EARLY, "").replace(SHARDED, SHARDED + EARLY))


@pytest.mark.parametrize("there", [True, False])
def test_what_is_mended_in_a_copy_is_fixed(copies: tuple[Path, Path], there: bool) -> None:
    one, other = copies
    before = found(one)
    if not there:
        shutil.rmtree(one)
    assert [each.primary.site.path for each in verified(before, other).remaining] == [str(other / "train.py")]
    mend(other)
    result = verified(before, other)
    assert result.clean and result.copy_of == str(one)
    assert [each.finding.primary.site.path for each in result.fixed] == [str(other / "train.py")]


def test_what_is_hidden_in_a_copy_is_not_fixed(copies: tuple[Path, Path]) -> None:
    one, other = copies
    text = (other / "train.py").read_text()
    (other / "train.py").write_text(text.replace("parallelize(model", "eval('parallelize')(model"))
    result = verified(found(one), other)
    assert not result.clean and not result.fixed and len(result.gone) == 1


@pytest.mark.parametrize("without", ["the one", "the other", "both"])
def test_a_folder_that_nothing_says_to_be_a_copy_is_refused(copies: tuple[Path, Path], without: str) -> None:
    """It may be another project, or a part of this one, with a file and a model of the same name."""
    one, other = copies
    if without != "the other":
        (one / SIGN).unlink()
    if without != "the one":
        (other / SIGN).unlink()
    mend(other)
    with pytest.raises(Refusal, match=f"these findings are of another folder, {one}, and no .git or pyproject.toml"):
        verified(found(one), other)


def test_another_sign_is_none(copies: tuple[Path, Path]) -> None:
    one, other = copies
    (one / SIGN).unlink()
    (one / ".git").mkdir()
    with pytest.raises(Refusal):
        verified(found(one), other)


def test_a_part_of_the_same_project_is_no_copy(copies: tuple[Path, Path]) -> None:
    """What `part/train.py` does is no proof for `train.py` above it."""
    one, other = copies
    mend(other)
    part = Path(shutil.copytree(other, one / "part"))
    before = [each for each in found(one) if each.primary.site.path == str(one / "train.py")]
    result = verified(before, part / "train.py")
    assert not result.copy_of and [each.reasons for each in result.silenced] == [
        ("its file is not among those that were checked",)
    ]
    shutil.rmtree(part)
    assert as_here(before, str(one)) == (before, "") and as_here([], str(other)) == ([], "")


def test_the_folder_is_found_in_texts_too_and_no_other_one() -> None:
    at = fake.site("/a/train.py", 3)
    seen = Seen(
        "model",
        "Net",
        at,
        reasons={"FSDP601": ("Net is handed to f (/a/x.py:1), not to /data/a/x.py, /ab/x.py or a/x.py",)},
        scripts=("/a/train.py",),
        functions={"/a/train.py:main": at},
    )
    finding = fake.finding(at, (fake.site("/b/lib.py", 1), "in /a"))
    there = moved(replace(finding, about=(seen,), project=Project("/a", (".git",))), "/a", "/c\\1")
    assert (there.primary.site.path, there.related[0]) == (
        "/c\\1/train.py",
        Label(fake.site("/b/lib.py", 1), "in /c\\1"),
    )
    (about,) = there.about
    assert about.reasons["FSDP601"] == ("Net is handed to f (/c\\1/x.py:1), not to /data/a/x.py, /ab/x.py or a/x.py",)
    assert about.scripts == ("/c\\1/train.py",) and [*about.functions] == ["/c\\1/train.py:main"]
    assert there.project == Project("/c\\1", (".git",))
