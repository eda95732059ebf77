"""What torch does in some versions only: the table itself, and that every clause asks it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.vocab import behaviour
from fsdp2_lint.vocab.behaviour import FSDP2_IS_PUBLIC, ROOT_STAYS_GATHERED, Behaviour
from fsdp2_lint.vocab.target import NEWEST, OLDEST

ROOT = Path(__file__).parents[2]
TABLE = {name: value for name, value in vars(behaviour).items() if isinstance(value, Behaviour)}


@pytest.mark.parametrize("name", sorted(TABLE))
def test_an_entry(name: str) -> None:
    """It divides the versions that are known, and says where it is known from."""
    entry = TABLE[name]
    assert entry.words and entry.source
    assert entry.since is not None or entry.until is not None
    for bound in (entry.since, entry.until):
        assert bound is None or OLDEST < bound <= NEWEST
    assert entry.since is None or entry.until is None or entry.since < entry.until


def test_which_versions_do_it() -> None:
    between = Behaviour("it does", (2, 8), (2, 14), "a thread")
    assert [minor for minor in range(5, 16) if between.of((2, minor))] == [8, 9, 10, 11, 12, 13]
    assert between.versions == "from torch 2.8 to before 2.14"
    assert ROOT_STAYS_GATHERED.of(OLDEST) and not ROOT_STAYS_GATHERED.of((2, 8))
    assert ROOT_STAYS_GATHERED.versions == "before torch 2.8"
    assert not FSDP2_IS_PUBLIC.of(OLDEST) and FSDP2_IS_PUBLIC.of(NEWEST)
    assert FSDP2_IS_PUBLIC.versions == "from torch 2.6"


OWNERS = {"target.py", "behaviour.py", "torch_api.py", "api.py"}  # versions themselves, and what torch has in each
ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
SOURCES = [
    path
    for folder in (ROOT / "rules", ROOT / "fsdp2_lint" / "static", ROOT / "fsdp2_lint" / "runtime")
    for path in sorted(folder.rglob("*.py"))
    if path.name not in OWNERS
]


@pytest.mark.slow  # it reads all of our own sources
def test_nobody_compares_versions_by_hand() -> None:
    """They ask fsdp2_lint.vocab.behaviour."""
    found = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Compare) and any(isinstance(each, ORDER) for each in node.ops):
                asked = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
                found += [f"{path}:{node.lineno}"] if asked & {"target", "oldest"} else []
    assert SOURCES and not found


@pytest.mark.parametrize("rule", registry.rules(), ids=lambda rule: rule.code)
def test_who_asks_names_the_version(rule: object) -> None:
    source = Path(__import__(type(rule).__module__, fromlist=["_"]).__file__).read_text(encoding="utf-8")
    if ".of(self.target)" in source or "about_root(" in source:
        assert "in_words(self.target)" in source or "about_root(" in source or ".versions" in source
