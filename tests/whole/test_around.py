"""What is judged for the files that were given: the programs that they are a part of, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.around import Around, around
from fsdp2_lint.files import discovery
from fsdp2_lint.files.discovery import discover
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.lint import lint

FSDP2 = "from torch.distributed.fsdp import fully_shard\n"
# Two programs that share data.py; only the first one shards.
FILES = {
    "train.py": "from lib import parallel, metrics\nimport data\n",
    "lib/__init__.py": "",
    "lib/parallel.py": f"{FSDP2}from . import metrics\n",
    "lib/metrics.py": "import math\n",
    "data.py": "",
    "serve.py": "import data, plain\n",
    "plain.py": "",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "lib").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def near(project: Path, *names: str) -> Around:
    return around(discover([str(project / name) for name in names]), [])


def named(project: Path, paths: list[str] | frozenset[str]) -> list[str]:
    return sorted(Path(path).relative_to(project).as_posix() for path in paths)


PROGRAMS = {
    "train.py": ["train.py"],
    "lib/parallel.py": ["lib/parallel.py", "train.py"],
    "lib/metrics.py": ["lib/metrics.py", "lib/parallel.py", "train.py"],
    "data.py": ["data.py", "serve.py", "train.py"],
    "serve.py": None,
    "plain.py": None,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_begin_in_the_file_and_in_what_imports_it(name: str, project: Path) -> None:
    found, expected = near(project, name), PROGRAMS[name]
    assert (found.within is not None) is (expected is not None) is bool(found.files)
    if found.within is not None:
        assert named(project, found.within.programs) == expected
        assert "lib/parallel.py" in named(project, found.files), "all that these import is looked at"


def test_of_the_whole_project_all_is_judged(project: Path) -> None:
    found = near(project, ".")
    assert found.within is None and named(project, found.files) == sorted(FILES)


def test_the_summary_says_whether_fsdp2_is_in_reach(project: Path) -> None:
    assert [lint([str(project / name)]).linked for name in ("train.py", "lib/metrics.py", "plain.py")] == [1, 1, 0]


def test_a_notebook_may_be_the_program(project: Path) -> None:
    cell = '{"cells": [{"cell_type": "code", "source": "from lib import parallel"}]}'
    (project / "run.ipynb").write_text(cell)
    found = near(project, "lib/parallel.py")
    assert found.within is not None and "run.ipynb" in named(project, found.within.programs)


def test_what_cannot_be_listed_is_said(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = discovery.os.scandir

    def refused(path: str) -> object:
        if path.endswith("lib"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(discovery.os, "scandir", refused)
    report = lint([str(project / "train.py")])
    assert [note.rpartition("/")[2] for note in report.notes] == ["lib: cannot be read: Permission denied"]
    assert not report.all_judged and not report.failures


def test_a_folder_that_may_be_no_project_is_walked_so_far(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "ROOT_MARKERS", ("no-such-marker",))
    monkeypatch.setattr(discovery, "MOST", 3)
    found = near(project, "train.py")
    assert "lib/parallel.py" in named(project, found.files), "what a file imports is found without a walk"
    assert len(found.notes) == 1 and "what imports these files was not looked for" in found.notes[0]


def test_without_a_project_a_package_is_no_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "ROOT_MARKERS", ("no-such-marker",))
    (tmp_path / "kit" / "deep").mkdir(parents=True)
    for folder in ("kit", "kit/deep"):
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "kit" / "deep" / "fs.py").touch()
    assert discover([str(tmp_path / "kit" / "deep" / "fs.py")]).root == str(tmp_path)


def test_a_package_in_a_folder_that_holds_too_much_is_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its scripts import from where they lie, and by the name of the package."""
    monkeypatch.setattr(discovery, "ROOT_MARKERS", ("no-such-marker",))
    for folder in ("kit", "kit/deep"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "kit" / "train.py").write_text("from deep.parallel import shard\nfrom kit import data\n")
    (tmp_path / "kit" / "data.py").touch()
    (tmp_path / "kit" / "deep" / "parallel.py").write_text(FSDP2)
    for number in range(6):
        (tmp_path / f"other{number}.py").touch()
    monkeypatch.setattr(discovery, "MOST", 6)
    given = discover([str(tmp_path / "kit" / "train.py")])
    found = around(given, [])
    assert given.root == str(tmp_path / "kit") and not found.notes
    assert {"kit/train.py", "kit/deep/parallel.py", "kit/data.py"} <= set(named(tmp_path, found.files))


@pytest.mark.parametrize("marker", [".git/", "pyproject.toml"])
def test_a_package_with_a_project_file_of_its_own_is_a_part_of_the_checkout(marker: str, tmp_path: Path) -> None:
    """Its imports begin where the checkout does: ``import inner.parallel`` in a file of ``inner``."""
    (tmp_path / marker).mkdir() if marker.endswith("/") else (tmp_path / marker).touch()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "pyproject.toml").touch()
    (tmp_path / "inner" / "parallel.py").write_text(FSDP2)
    (tmp_path / "inner" / "train.py").write_text("from inner import parallel\n")
    assert named(tmp_path, near(tmp_path, "inner/train.py").files) == ["inner/parallel.py", "inner/train.py"]


BUILT = {
    "net.py": f"""\
{FSDP2}import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x)

    def apply_sharding(self):
        fully_shard(self.layer)
        fully_shard(self)
        return self
""",
    "train.py": """\
import hydra, torch, settings

def main(cfg):
    torch.distributed.init_process_group("gloo")
    model = hydra.utils.instantiate(cfg.model).apply_sharding()
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 8)).sum().backward()
    optimizer.step()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)

main(settings.load())
""",
    "settings.py": "def load():\n    return {}\n",
    "other.py": "def main(model):\n    model.shape()\n",
}


@pytest.fixture
def built(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    for name, text in BUILT.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("name", [".", "train.py"])
def test_a_model_that_a_framework_builds_belongs_to_who_calls_its_method(name: str, built: Path) -> None:
    assert [each.code for each in lint([str(built / name)]).findings] == ["FSDP612"]


def test_its_file_and_what_the_script_imports_are_parts_of_the_program(built: Path) -> None:
    for name, programs in {"net.py": ["net.py", "train.py"], "settings.py": ["settings.py", "train.py"]}.items():
        found = near(built, name)
        assert found.within is not None and named(built, found.within.programs) == programs
    assert near(built, "other.py").within is None


PLAIN = """\
import torch
from kit.parallel import shard
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.AdamW(model.parameters())
shard(model)
model(torch.ones(2)).sum().backward()
optimizer.step()
"""
HELPER = f"""\
{FSDP2}from kit import inner
def shard(model):
    inner.shard(model)
    fully_shard(model)
"""


@pytest.mark.parametrize(
    ("exclude", "given"),
    [('["kit/parallel.py"]', "."), ('["kit/"]', "."), ('["*"]', "train.py"), ('["kit/"]', "train.py")],
    ids=["a file", "a folder", "all but what is named", "a folder, and a file is named"],
)
def test_what_is_excluded_is_followed_where_it_is_imported(exclude: str, given: str, tmp_path: Path) -> None:
    """Its sharding is a part of the program; what is wrong in it alone is not told."""
    (tmp_path / "kit").mkdir()
    twice = "def shard(model):\n    pass\ndef other(model):\n    fully_shard(model)\n    fully_shard(model)\n"
    texts = {
        "pyproject.toml": f"[tool.fsdp2-lint]\nexclude = {exclude}\n",
        "train.py": PLAIN,
        "kit/__init__.py": "",
        "kit/parallel.py": HELPER,
        "kit/inner.py": f"{FSDP2}{twice}",
        "kit/unused.py": f"{FSDP2}{twice}",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    report = lint([str(tmp_path / given)], Asked(cache=False))
    told = {Path(finding.primary.site.path).name: finding.code for finding in report.findings}
    assert told["train.py"] == "FSDP601"
    assert "kit/parallel.py" in exclude or told.keys() == {"train.py"}


def test_what_is_excluded_and_not_imported_is_not_looked_at(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.fsdp2-lint]\nexclude = ["lib"]\n')
    found = lint([str(project / "serve.py")], Asked(cache=False))
    assert not found.findings and not found.linked
