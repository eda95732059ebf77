"""A program begins at the scripts that reach sharding code, then at what no script calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from fsdp2_lint.static.entries import find_entries
from fsdp2_lint.static.frontend.project import Project

from .program import HEAD, NET, analyse

SHARD = "from torch.distributed.fsdp import fully_shard\n"
HELPER = SHARD + "def shard(model):\n    fully_shard(model)\n"
GUARD = 'if __name__ == "__main__":\n    main()\n'


def entries(files: Mapping[str, str], explicit: str = "") -> tuple[list[str], list[str]]:
    """Names of the scripts, and of what would be entered if no script reached anything."""
    overlay = {f"/program/{name}": text.encode() for name, text in files.items()}
    project = Project(Path("/program"), overlay)
    project.files = sorted(overlay)
    plan = find_entries(project, frozenset({f"/program/{explicit}"} if explicit else ()))
    short = [entry.name.removeprefix("/program/") for entry in plan.scripts]
    return short, [entry.name.removeprefix("/program/") for entry in plan.callers(set())]


def test_without_a_sharding_call_there_is_nothing_to_enter() -> None:
    assert entries({"train.py": f"def main(): pass\n{GUARD}"}) == ([], [])
    assert entries({"train.py": f"# fully_shard\nx = 'fully_shard'\ndef main(): pass\n{GUARD}"}) == ([], [])


@pytest.mark.parametrize(
    "tail",
    [GUARD, "main()\n", "for _ in range(3):\n    main()\n", "with open(f):\n    main()\n", "while True:\n    main()\n"],
    ids=["guard", "call", "for", "with", "while"],
)
def test_scripts(tail: str) -> None:
    text = f"{SHARD}def main():\n    fully_shard(make())\n{tail}"
    assert entries({"train.py": text})[0] == ["train.py"]


def test_a_library_is_no_script() -> None:
    scripts, callers = entries({"util.py": HELPER})
    assert scripts == [] and set(callers) == {"util.py:shard"}


def test_a_script_in_another_file_reaches_the_helper() -> None:
    files = {"util.py": HELPER, "train.py": f"from util import shard\ndef main():\n    shard(make())\n{GUARD}"}
    assert entries(files)[0] == ["train.py"]


def test_scripts_that_do_not_reach_it_are_not_entered() -> None:
    other = f"from util import other\ndef main():\n    other()\n{GUARD}"
    assert entries({"util.py": HELPER + "def other(): pass\n", "eval.py": other})[0] == []


def test_the_outermost_caller_comes_first() -> None:
    text = SHARD + "def inner(model):\n    fully_shard(model)\ndef outer(model):\n    inner(model)\n"
    assert entries({"util.py": text})[1][0] == "util.py:outer"


def test_methods_are_entered_through_their_class() -> None:
    text = SHARD + "class Trainer:\n    def wrap(self):\n        fully_shard(self.model)\n"
    assert "util.py:Trainer" in entries({"util.py": text})[1]


@pytest.mark.parametrize("path", ["tests/run.py", "test_run.py", "run_test.py", "conftest.py"])
def test_tests_are_no_entries_unless_they_are_asked_for(path: str) -> None:
    files = {"lib.py": "x = 1\n", path: f"{SHARD}def main():\n    fully_shard(make())\n{GUARD}"}
    assert entries(files) == ([], [])
    assert entries(files, explicit=path)[0] == [path]


def test_a_project_that_lives_in_a_folder_named_tests_is_still_checked() -> None:
    text = f"{SHARD}def main():\n    fully_shard(make())\n{GUARD}"
    assert entries({"tests/work/train.py": text, "tests/work/util.py": HELPER})[0] == ["tests/work/train.py"]


ALIASES = {
    "another name": "from torch.distributed.fsdp import fully_shard as fs\ndef main():\n    fs(make())\n",
    "imported in it": "def main():\n    from torch.distributed.fsdp import fully_shard as fs\n    fs(make())\n",
}


@pytest.mark.parametrize("name", ALIASES)
def test_sharding_under_another_name_is_an_entry(name: str) -> None:
    assert entries({"train.py": ALIASES[name] + GUARD})[0] == ["train.py"]


RENAMED = {
    "a class": ("from trainers import Distiller\ndef main():\n    Distiller(1).train()\n", "Trainer as Distiller"),
    "a function": ("import trainers\ndef main():\n    trainers.distil()\n", "distil_all as distil"),
    "under a condition": ("from trainers import distil\ndef main():\n    distil()\n", "distil_all as distil"),
}
TRAINER = """\
from torch.distributed.fsdp import fully_shard
class Trainer:
    def __init__(self, config):
        fully_shard(make(config))
    def train(self):
        pass
def distil_all():
    Trainer(2).train()
"""


@pytest.mark.parametrize("name", RENAMED)
def test_a_name_that_another_file_gives_is_followed(name: str) -> None:
    script, renames = RENAMED[name]
    indent = "if True:\n    " if name == "under a condition" else ""
    files = {"trainers/__init__.py": f"{indent}from .one import {renames}\n", "trainers/one.py": TRAINER}
    assert entries({"train.py": script + GUARD, **files})[0] == ["train.py"]


STEPS = "\n    model(torch.ones(2)).sum().backward()\n    optimizer.step()\n"
ORDER = "optimizer = torch.optim.AdamW(model.parameters())\n    fully_shard(model)"


def test_a_function_that_nobody_calls_is_checked() -> None:
    assert analyse(f"{HEAD}{NET}def run():\n    model = Net()\n    {ORDER}{STEPS}").codes == ["FSDP301", "FSDP601"]


def test_between_two_methods_that_nobody_calls_the_order_is_not_known() -> None:
    text = f"""{HEAD}{NET}
class Trainer:
    def __init__(self):
        self.model = Net()
    def build_optimizer(self):
        self.optimizer = torch.optim.AdamW(self.model.parameters())
    def wrap(self):
        fully_shard(self.model)
    def train(self):
        self.model(torch.ones(2)).sum().backward()
        self.optimizer.step()
"""
    assert "FSDP601" not in analyse(text).codes
    driven = "\ntrainer = Trainer()\ntrainer.build_optimizer()\ntrainer.wrap()\ntrainer.train()\n"
    assert "FSDP601" in analyse(text + driven).codes


@pytest.mark.parametrize("name", ["shard_all", "setup", "apply"])
def test_a_helper_that_a_script_reached_is_not_judged_alone(name: str) -> None:
    """Alone, the order in the helper would look wrong: its caller rebuilds the optimizer."""
    helper = f"{HEAD}def {name}(model):\n    {ORDER}\n    return optimizer\n"
    main = f"""{HEAD}from util import {name}
{NET}
def main():
    model = Net()
    {name}(model)
    optimizer = torch.optim.AdamW(model.parameters()){STEPS}
main()
"""
    assert "FSDP601" not in analyse({"util.py": helper, "train.py": main}).codes


def test_an_initialiser_that_no_script_runs_is_checked_although_its_methods_ran() -> None:
    lib = f"""{HEAD}{NET}
def shard(model):
    fully_shard(model)


class Base:
    def __init__(self):
        self.make()
        self.build()
        self.wrap()
        self.train()
    def make(self):
        self.model = Net()
    def build(self):
        self.optimizer = torch.optim.AdamW(self.model.parameters())
    def wrap(self):
        shard(self.model)
    def train(self):
        self.model(torch.ones(2)).sum().backward()
        self.optimizer.step()
"""
    main = "from lib import Base\nbase = Base.__new__(Base)\nbase.make()\nbase.wrap()\nbase.build()\nbase.train()\n"
    assert "FSDP601" in analyse({"lib.py": lib, "train.py": main}).codes
    mended = lib.replace("build()\n        self.wrap()", "wrap()\n        self.build()")
    assert "FSDP601" not in analyse({"lib.py": mended, "train.py": main}).codes
