"""pyproject.toml names what is there. (test_packaging.py proves it by building; this is quick.)"""

from __future__ import annotations

import re
from pathlib import Path

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
