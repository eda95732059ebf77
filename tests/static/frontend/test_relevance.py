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
