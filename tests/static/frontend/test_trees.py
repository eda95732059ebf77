"""What a process that checks again and again parses only once."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.static.check import check
from fsdp2_lint.static.frontend import project
from fsdp2_lint.static.frontend.trees import Trees
from fsdp2_lint.static.result import Request
from tests.static.program import FOOT, HEAD, NET, ROOT

MODEL = f"{ROOT}/model.py"
TRAIN = f"{ROOT}/train.py"
RIGHT = (
    HEAD
    + "from model import Net\n\n\ndef main():\n    model = Net()\n    fully_shard(model)\n    model(torch.ones(2))\n"
)
WRONG = RIGHT.replace("model(torch", "model.forward(torch")


def run(trees: Trees, train: str) -> set[str]:
    overlay = {MODEL: (HEAD + NET).encode(), TRAIN: (train + FOOT).encode()}
    request = Request(files=sorted(overlay), root=ROOT, overlay=overlay, rules=registry.rules())
    return {each.code for each in check(request, trees=trees).findings}


def test_only_what_changed_is_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rebuilt: list[str] = []
    rebuild = project.rebuild

    def noted(tree: object, name: str, path: str, is_package: bool) -> object:
        rebuilt.append(path)
        return rebuild(tree, name, path, is_package)  # type: ignore[arg-type]

    monkeypatch.setattr(project, "rebuild", noted)
    trees = Trees()
    assert "FSDP401" not in run(trees, RIGHT)
    assert sorted(rebuilt) == [MODEL, TRAIN]
    assert "FSDP401" in run(trees, WRONG)
    assert rebuilt[2:] == [TRAIN]
    assert "FSDP401" not in run(trees, RIGHT)
    assert rebuilt[3:] == [TRAIN], "it is kept for one content at a time"


def test_the_longest_unused_go_first() -> None:
    trees = Trees(most=2)
    made = project.Project.module(project.Project(Path(ROOT), {MODEL: b"x = 1\n"}), MODEL)
    assert made is not None
    for name in "ab":
        trees.put(name, "1", made)
    assert trees.get("a", "1") is made
    trees.put("c", "1", made)
    assert [name for name in "abc" if trees.get(name, "1")] == ["a", "c"]
    assert trees.get("a", "2") is None


def test_what_a_call_makes_of_another_file_is_made_anew_when_that_changes() -> None:
    fields, train = (
        f"{ROOT}/fields.py",
        HEAD
        + NET
        + (
            "from collections import namedtuple\nfrom fields import FIELDS\nParts = namedtuple('Parts', FIELDS)\n\n\n"
            "def main():\n    model = Net()\n    fully_shard(model)\n    held = Parts(None, model)\n"
            "    if held.second is not None:\n        held.second.forward(torch.ones(2))\n"
        ),
    )
    trees, found = Trees(), []
    for names in ("['first', 'second']", "['second', 'first']"):
        overlay = {fields: f"FIELDS = {names}\n".encode(), TRAIN: (train + FOOT).encode()}
        request = Request(files=sorted(overlay), root=ROOT, overlay=overlay, rules=registry.rules())
        found.append("FSDP401" in {each.code for each in check(request, trees=trees).findings})
    assert found == [True, False]
