"""pyproject.toml names what is there. (test_packaging.py proves it by building; this is quick.)"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def listed(key: str) -> list[str]:
    (block,) = re.findall(rf"^{key} = \[(.*?)\]", PYPROJECT, re.DOTALL | re.MULTILINE)
    return re.findall(r'"([^"]+)"', block)


def test_packages_are_listed() -> None:
    folders = {path.parent.relative_to(ROOT) for path in (ROOT / "fsdp2_lint").rglob("*.py")}
    rules = {"fsdp2_lint" / path.parent.relative_to(ROOT) for path in (ROOT / "rules").rglob("*.py")}
    assert sorted(listed("packages")) == sorted(".".join(folder.parts) for folder in folders | rules)


def test_dependencies_stay_small() -> None:
    assert [re.split(r"[<>=]", each)[0] for each in listed("dependencies")] == ["astroid", "click", "tomli"]


def test_hooks_install_nothing_further() -> None:
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    assert re.findall(r"^- id: (.*)$", hooks, re.MULTILINE) == [
        "fsdp2-lint",
        "fsdp2-lint-files",
        "fsdp2-lint-preflight",
    ]
    assert "additional_dependencies" not in hooks


# What a tool looks for at the root. What a script, a test or a command wrote there does not belong to the project.
AT_THE_ROOT = {
    ".ci",
    ".github",
    ".gitignore",
    ".pre-commit-hooks.yaml",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "action.yml",
    "benchmarks",
    "docs",
    "examples",
    "fsdp2_lint",
    "mkdocs.yml",
    "pyproject.toml",
    "rules",
    "scripts",
    "tests",
}
OUTPUTS = {".bin", ".ckpt", ".distcp", ".log", ".npz", ".pkl", ".pt", ".pth", ".safetensors"}


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    words = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")[:-1]


def test_nothing_lies_at_the_root_by_chance(tracked: list[str]) -> None:
    assert {path.split("/")[0] for path in tracked} == AT_THE_ROOT


def test_no_output_of_a_job_is_in_the_project(tracked: list[str]) -> None:
    assert [path for path in tracked if Path(path).suffix in OUTPUTS] == []
