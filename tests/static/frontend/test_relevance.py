"""Which functions can have a part in what the rules are about: by what their names stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.static.frontend.project import Project
from fsdp2_lint.static.frontend.relevance import ALL, NONE

CALLS = "def fetch():\n    return endpoint()\n\n\n"


def level(text: str, function: str) -> int:
    """What ``function`` of a file can touch."""
    project = Project(Path("."), {"m.py": f"import functools\nimport os\nimport torch\n\n\n{text}".encode()})
    module = project.module("m.py")
    assert module is not None
    (node,) = module.bindings[function]
    return project.relevance.level(module, node)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('os.environ.get("HF_ENDPOINT", "https://hub")', NONE),
        ('os.getenv("PROFILE") == "1"', NONE),
        ('os.environ["HF_HOME"]', NONE),
        ('os.environ["LOCAL_RANK"]', ALL),
        ('int(os.getenv("WORLD_SIZE", "1"))', ALL),
        ("os.environ.get(NAME)", ALL),  # any variable
        ("dict(os.environ)", ALL),
        ('os.environ.setdefault("A", "1")', ALL),
    ],
)
def test_a_variable_that_no_launcher_sets_is_of_use_to_what_asks_for_it(line: str, found: int) -> None:
    assert level(f"{CALLS}def endpoint():\n    return {line}\n", "fetch") == found


def test_what_is_set_for_others_matters() -> None:
    assert level(f'{CALLS}def endpoint():\n    os.environ["HF_HOME"] = "/data"\n', "fetch") == ALL


def test_the_code_that_reads_a_variable_itself_may_choose_by_it() -> None:
    assert level('def endpoint():\n    return os.getenv("PROFILE")\n', "endpoint") == ALL


RETRY = """
def retry(function):
    @functools.wraps(function)
    def inner(*args):
        {body}
    return inner


@retry
def read(path):
    return path


def fetch():
    return read("a")
"""


def test_what_a_decorator_is_given_stands_where_it_is_used() -> None:
    assert level(RETRY.format(body="return function(*args)"), "fetch") == NONE
    assert level(RETRY.format(body="return TABLE[function](*args)"), "fetch") == ALL


def test_a_function_that_is_handed_over_and_called_may_be_any() -> None:
    assert level("def fetch(function):\n    return function()\n", "fetch") == ALL


PARTS = """
from torch import nn


class Net(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = {made}

    def forward(self, x, hook):
        for {over}:
            x = {called}
        return x
"""


@pytest.mark.parametrize(
    ("made", "over", "called", "inside"),
    [
        ("nn.ModuleList(nn.Linear(2, 2) for _ in range(2))", "block in self.blocks", "block(x)", True),
        ("nn.ModuleList(blocks)", "i, block in enumerate(self.blocks)", "block(x)", True),
        ("nn.ModuleList(blocks)", "block, i in enumerate(self.blocks)", "block(x)", False),
        ("nn.ModuleList(blocks)", "i, block in zip(hook, self.blocks)", "block(x)", False),
        ("torch.nn.Sequential(*blocks)", "block in self.blocks", "block(x)", True),
        ("blocks", "block in self.blocks", "block(x)", False),  # whatever was handed over
        ("functools.ModuleList(blocks)", "block in self.blocks", "block(x)", False),
        ("nn.ModuleList(blocks)", "block in hook.blocks", "block(x)", False),
        ("nn.ModuleList(blocks)", "block in self.blocks", "hook(block)", False),
        ("nn.ModuleList(blocks)", "block in self.blocks", "block[0](x)", False),
    ],
)
def test_parts_of_a_module_in_a_loop_are_called_as_by_their_names(
    made: str, over: str, called: str, inside: bool
) -> None:
    text = f"import functools\nimport torch\n{PARTS.format(made=made, over=over, called=called)}"
    project = Project(Path("."), {"m.py": text.encode()})
    module = project.module("m.py")
    assert module is not None
    (cls,) = module.bindings["Net"]
    assert project.relevance.stays_inside(module, cls.locals["forward"][0]) is inside
