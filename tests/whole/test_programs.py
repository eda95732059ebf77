"""Where programs begin and where their imports lead, as a project says: ``entry-points`` and ``source-roots``."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.errors import BadSetting
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.lint import lint

SHARD = "from torch.distributed.fsdp import fully_shard\n\ndef shard(model):\n    fully_shard(model)\n"
TRAIN = """\
import torch
from torch import nn
from common import shard


def main():
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    optimizer = torch.optim.AdamW(model.parameters())
    shard(model)
    model(torch.zeros(8)).sum().backward()
    optimizer.step()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """``common`` may be either of two modules, and nothing calls ``main``."""
    for name, text in {
        "pyproject.toml": "",
        "train.py": TRAIN,
        "libs/a/common.py": SHARD,
        "libs/b/common.py": "def shard(model):\n    pass\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def check(project: Path, settings: str, *paths: str) -> Report:
    (project / "fsdp2-lint.toml").write_text(settings)
    return lint([str(project / path) for path in paths or (".",)])


def found(report: Report) -> list[tuple[str, str]]:
    return [(finding.code, Path(finding.primary.site.path).name) for finding in report.findings]


def test_an_import_that_may_mean_two_files_is_looked_up_in_the_source_roots(project: Path) -> None:
    late = ("FSDP601", "train.py")
    assert late not in found(check(project, ""))
    assert late in found(check(project, 'source-roots = ["libs/a"]'))
    assert late not in found(check(project, 'source-roots = ["libs/b", "libs/a"]')), "the first counts"


def test_a_source_root_may_lie_outside_the_project(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (project / "libs" / "a" / "common.py").rename(outside / "common.py")
    (project / "libs" / "b" / "common.py").unlink()
    (project / "train.py").write_text(
        f"from torch.distributed.fsdp import fully_shard\n{TRAIN}    fully_shard(model)\n"
    )
    twice = ("FSDP305", "train.py")
    assert twice not in found(check(project, ""))
    report = check(project, f'source-roots = ["../{outside.name}"]')
    assert twice in found(report)
    assert str(outside / "common.py") not in report.files


def test_an_entry_point_is_followed_also_where_others_are_not(project: Path) -> None:
    (project / "tests").mkdir()
    (project / "train.py").rename(project / "tests" / "train.py")
    roots = 'source-roots = ["libs/a"]\n'
    assert found(check(project, roots)) == [], "of tests only those that are named are followed"
    late = ("FSDP601", "train.py")
    assert late in found(check(project, f'{roots}entry-points = ["tests/train.py:main"]'))
    assert late not in found(check(project, f'{roots}entry-points = ["tests/train.py"]')), "nothing calls main there"


def test_a_function_that_is_not_there_is_said(project: Path) -> None:
    with pytest.raises(BadSetting, match="entry-points: there is no function launch in train.py"):
        check(project, 'entry-points = ["train.py:launch"]')
    with pytest.raises(BadSetting, match="there is no function Trainer in train.py"):
        (project / "train.py").write_text("class Trainer:\n    def main(self): ...\n")
        check(project, 'entry-points = ["train.py:Trainer"]')
    (project / "train.py").write_text("async def launch(): ...\n")
    assert check(project, 'entry-points = ["train.py:launch"]').failures == []
    (project / "train.py").write_text("def launch(:\n")
    assert found(check(project, 'entry-points = ["train.py:launch"]')) == [("FSDP000", "train.py")]


def test_what_an_editor_holds_counts_for_entry_points(project: Path) -> None:
    (project / "fsdp2-lint.toml").write_text('entry-points = ["train.py:launch"]')
    text = {str(project / "train.py"): b"def launch(): ...\n"}
    assert lint([str(project)], overlay=text).failures == []


def test_of_a_part_of_the_project_nobody_expects_that_programs_begin_in_it(project: Path) -> None:
    assert check(project, 'entry-points = ["train.py:main"]', "libs").notes == []
