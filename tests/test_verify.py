"""What became of findings: nothing that only makes them disappear counts as a mend."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from fsdp2_lint.lint import Asked, lint
from fsdp2_lint.verify import Comparison, compare
from fsdp2_lint.vocab.finding import Finding

EXAMPLE = Path(__file__).parents[1] / "examples" / "broken" / "optimizer_before_sharding"
EARLY = "    optimizer = build_optimizer(model, lr=1e-2)  # error: [FSDP601]\n"
SHARDED = "    parallelize(model, mesh)\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLE, tmp_path / "job")
    (tmp_path / "job" / "pyproject.toml").write_text("")
    return tmp_path / "job"


@pytest.fixture
def before(project: Path) -> list[Finding]:
    found = lint([str(project)]).findings
    assert [finding.code for finding in found] == ["FSDP601"]
    return found


def edit(file: Path, *pairs: tuple[str, str]) -> None:
    text = file.read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)


def compared(project: Path, before: Sequence[Finding], asked: Asked = Asked()) -> Comparison:  # noqa: B008
    return compare(before, [str(project)], asked, lint)


def counts(result: Comparison) -> dict[str, int]:
    names = ("fixed", "remaining", "silenced", "removed", "new")
    return {name: len(getattr(result, name)) for name in names if getattr(result, name)}


def test_nothing_done(project: Path, before: list[Finding]) -> None:
    result = compared(project, before)
    assert counts(result) == {"remaining": 1} and not result.clean


def test_mended(project: Path, before: list[Finding]) -> None:
    edit(project / "train.py", (EARLY, ""), (SHARDED, SHARDED + EARLY))
    result = compared(project, before)
    assert counts(result) == {"fixed": 1} and result.clean
    assert result.fixed[0].verdict == "upheld"


def test_moved_about(project: Path, before: list[Finding]) -> None:
    edit(project / "train.py", (EARLY, "\n\n" + EARLY.replace("optimizer =", "optimizer: object =")))
    assert counts(compared(project, before)) == {"remaining": 1}


def test_not_proved(project: Path, before: list[Finding]) -> None:
    """What builds the optimizer is out of sight: the fault may be there or not."""
    edit(project / "train.py", ("from optim import build_optimizer\n", "from elsewhere import build_optimizer\n"))
    result = compared(project, before)
    assert counts(result) == {"fixed": 1} and result.fixed[0].verdict in ("unknown", "not judged")


@pytest.mark.parametrize(
    "comment",
    ["  # noqa", "  # noqa: FSDP601", "  # fsdp2-lint: ignore[FSDP601] it is meant"],
    ids=["all", "noqa", "own"],
)
def test_silenced_by_a_comment(project: Path, before: list[Finding], comment: str) -> None:
    edit(project / "train.py", ("  # error: [FSDP601]", comment))
    result = compared(project, before)
    assert counts(result) == {"silenced": 1} and not result.clean
    assert result.silenced[0].reasons == ("a comment silences it",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('ignore = ["FSDP601"]', "a setting or an option leaves it or its file out"),
        ('select = ["FSDP8"]', "a setting or an option leaves it or its file out"),
        ('exclude = ["train.py"]', "a setting or an option leaves it or its file out"),
        ('severity = { FSDP601 = "info" }', "a setting or an option leaves it or its file out"),
        ('per-file-ignores = { "*.py" = ["FSDP6"] }', "per-file-ignores leaves it out"),
    ],
)
def test_silenced_by_a_setting(project: Path, before: list[Finding], text: str, why: str) -> None:
    (project / "fsdp2-lint.toml").write_text(text)
    result = compared(project, before)
    assert counts(result) == {"silenced": 1} and result.silenced[0].reasons == (why,)


def test_silenced_by_an_option(project: Path, before: list[Finding]) -> None:
    assert counts(compared(project, before, Asked(ignore=["FSDP6"]))) == {"silenced": 1}


def test_removed_with_the_sharding(project: Path, before: list[Finding]) -> None:
    edit(project / "parallelize.py", ("fully_shard(", "print("))
    result = compared(project, before)
    assert counts(result) == {"removed": 1} and not result.clean


def test_another_fault_is_new(project: Path, before: list[Finding]) -> None:
    edit(project / "train.py", (EARLY, ""), (SHARDED, SHARDED + EARLY), ("model(", "model.forward("))
    result = compared(project, before)
    assert counts(result) == {"fixed": 1, "new": 1} and result.new[0].code == "FSDP401" and not result.clean
