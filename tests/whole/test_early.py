"""What is found in the file that somebody works on, before all programs are followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.lint import Early, lint

MODEL = """\
import torch.nn as nn
from torch.distributed.fsdp import fully_shard


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))


def parallelize(model):
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    return model
"""
TRAIN = """\
import torch
import torch.distributed as dist

from model import Net, parallelize

dist.init_process_group("gloo")
model = parallelize(Net())
optimizer = torch.optim.AdamW(model.parameters())
"""
TOP_DOWN = MODEL.replace("    for layer", "    fully_shard(model)\n    for layer").replace(
    "    fully_shard(model)\n    ret", "    ret"
)


class Project:
    """``model.py`` is worked on; ``long.py`` and ``short.py`` are programs that come to it, ``other.py`` does not."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "pyproject.toml").write_text("[project]\nname = 'x'\n")
        (folder / "long.py").write_text(TRAIN + "".join(f"print(torch.zeros({n}))\n" for n in range(9)))
        (folder / "short.py").write_text(TRAIN)
        (folder / "other.py").write_text(MODEL + "\n\nparallelize(Net())\n")
        self.followed: list[str] = []
        self.early: list[Report] = []

    def check(self, text: str) -> Report:
        self.followed.clear()
        self.early.clear()
        (self.folder / "model.py").write_text(text)
        early = Early(str(self.folder / "model.py"), self.early.append)
        return lint([str(self.folder)], Asked(cache=True), progress=self.followed.append, early=early)

    @property
    def programs(self) -> list[str]:
        return [Path(name).name for name in self.followed if name.endswith(".py")]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path.resolve())


def codes(report: Report) -> list[tuple[str, str, int]]:
    return [(each.code, Path(each.primary.site.path).name, each.primary.site.row) for each in report.findings]


def test_the_shortest_program_that_comes_to_the_file_is_told_first(project: Project) -> None:
    assert codes(project.check(MODEL)) == [] and project.programs == ["long.py", "short.py", "other.py"]
    report = project.check(TOP_DOWN)
    assert project.programs == ["short.py", "long.py"], "each is followed once, and what does not read it never"
    assert [codes(each) for each in project.early] == [codes(report)] * 2
    assert "model.py" in {name for _, name, _ in codes(report)}


def test_nothing_is_told_early_that_nobody_followed_before_or_that_is_known(project: Project) -> None:
    project.check(TOP_DOWN)
    assert not project.early, "which program comes to the file was not known"
    project.check(TOP_DOWN)
    assert not project.early and not project.programs


def test_comments_silence_what_is_told_early(project: Project) -> None:
    project.check(MODEL)
    ((code, _, row),) = [each for each in codes(project.check(TOP_DOWN)) if each[1] == "model.py"]
    project.check(MODEL)
    lines = TOP_DOWN.splitlines(keepends=True)
    lines[row - 1] = lines[row - 1].rstrip("\n") + f"  # noqa: {code}\n"
    report = project.check("".join(lines))
    assert len(project.early) == 2 and not any(codes(each) for each in (*project.early, report))
