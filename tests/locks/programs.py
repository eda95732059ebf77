"""The programs that the locks make their cases from, in memory: pages, examples, projects and planted faults.

A program is its files, by their paths inside the project. It is analysed in this process, as a project of its own
in a folder that does not exist, so the same text says the same wherever the tests lie.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.static.check import check
from fsdp2_lint.static.frontend.pins import pinned_torch
from fsdp2_lint.static.result import ModelVerdicts, Request, Result
from fsdp2_lint.vocab.finding import Finding
from fsdp2_lint.vocab.rule import for_target
from fsdp2_lint.vocab.target import Version
from tests.mutation.operators import plant
from tests.mutation.run import recipes
from tests.pages import harness

T = TypeVar("T")
HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
PROJECTS = HERE.parent / "projects"
ROOT = "/program"  # is not there: nothing beside the given files takes part


@dataclass(frozen=True)
class Program:
    """``clause`` is the one that a bad program breaks, or that a good one of a page is about; "" for projects.

    ``target`` is the torch that the dependency files of its project pin, which are not part of ``files``: they lie in
    its ``folder``, if it has one.
    """

    name: str
    clause: str
    good: bool
    files: Mapping[str, str] = field(repr=False, hash=False)
    target: Version | None = None
    folder: Path | None = None

    def __str__(self) -> str:
        return self.name

    def with_files(self, files: Mapping[str, str], name: str = "") -> Program:
        """The same program, rewritten."""
        return replace(self, files=dict(files), name=f"{self.name}{name}")


@dataclass(frozen=True)
class Seen:
    """What the analysis says of a program. Paths are relative to the project."""

    result: Result

    @property
    def findings(self) -> list[Finding]:
        return self.result.findings

    @property
    def models(self) -> list[ModelVerdicts]:
        return self.result.models

    @property
    def codes(self) -> list[str]:
        return sorted(finding.code for finding in self.findings)

    @property
    def places(self) -> set[tuple[str, str, int]]:
        """(code, file, row) of each finding's primary place."""
        return {(each.code, name_of(each.primary.site.path), each.primary.site.row) for each in self.findings}

    def words(self, code: str) -> list[str]:
        """The verdict of each model to which the clause applies."""
        return [clause.word for model in self.models for clause in model.rules if clause.code == code]

    def table(self) -> list[tuple[str, str, str]]:
        """(label of the model, clause, word), sorted: what is said, without where it stands."""
        return sorted((model.label, clause.code, clause.word) for model in self.models for clause in model.rules)


def name_of(path: str) -> str:
    """Of a path in a :class:`Seen` the file's name inside the program."""
    return path.removeprefix(f"{ROOT}/")


def analyse(program: Program | Mapping[str, str | bytes], only: Sequence[str] = ()) -> Seen:
    """Check all files of a program, or ``only`` some. A defect of the engine fails the test."""
    seen = analyse_carefully(program, only)
    assert not seen.result.broken, seen.result.broken
    return seen


def analyse_carefully(program: Program | Mapping[str, str | bytes], only: Sequence[str] = ()) -> Seen:
    """The same; whoever calls looks for defects of the engine in ``result.broken``."""
    target = program.target if isinstance(program, Program) else None
    files: Mapping[str, str | bytes] = program.files if isinstance(program, Program) else program
    overlay = {f"{ROOT}/{name}": _encoded(text) for name, text in files.items()}
    named = sorted(f"{ROOT}/{name}" for name in only or files if name.endswith(".py"))
    rules = [rule for rule in registry.rules() if "S" in rule.judged_by]
    rules = for_target(rules, target) if target else rules
    return Seen(check(Request(files=named, root=ROOT, overlay=overlay, rules=rules, target=target)))


def _encoded(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


@cache
def everything() -> tuple[Program, ...]:
    """All programs, in an order that does not change."""
    return (*pages(), *examples(), *projects(), *planted())


@cache
def pages() -> tuple[Program, ...]:
    """Each program on the page of a clause that is seen in the source."""
    return tuple(each for each in every_page() if "S" in registry.rule(each.clause).judged_by)


@cache
def every_page() -> tuple[Program, ...]:
    """Each program on the page of any clause."""
    found = []
    for rule in registry.rules():
        for number, each in enumerate(harness.programs(registry.page(rule)), 1):
            name = f"{rule.code}-{number}-{'good' if each.good else 'bad'}"
            found.append(Program(name, rule.code, each.good, each.files, _pinned(each.files)))
    return tuple(found)


def _pinned(files: Mapping[str, str]) -> Version | None:
    """Dependency files are read from the disk, where those of a page are not."""
    exact = re.search(r"torch==(\d+)\.(\d+)", files.get("setup.py", ""))
    return (int(exact[1]), int(exact[2])) if exact else None


@cache
def examples() -> tuple[Program, ...]:
    """The scripts and the folders under ``examples/``."""
    found = []
    for kind in ("good", "broken"):
        for path in sorted((EXAMPLES / kind).iterdir()):
            if path.is_dir() or path.suffix == ".py":
                files = _texts(path)
                codes = sorted({mark.code for mark in harness.marks(files)}, key=str)
                found.append(Program(f"{kind}-{path.stem}", codes[0] if codes else "", kind == "good", files))
    return tuple(found)


@cache
def projects() -> tuple[Program, ...]:
    """The correct projects under ``tests/projects/``."""
    folders = sorted(path for path in PROJECTS.iterdir() if path.is_dir() and path.name[0] not in "._")
    return tuple(Program(path.name, "", True, _texts(path), pinned_torch(path), path) for path in folders)


@cache
def planted() -> tuple[Program, ...]:
    """The projects, each with one planted fault."""
    by_name = {each.name: each for each in projects()}
    found = []
    for folder, recipe in recipes(None):
        whole = by_name[folder.name]
        changed = plant(whole.files, recipe)
        mark = hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:6]
        name = f"{folder.name}-{recipe['code']}-{recipe['operator']}-{mark}"
        found.append(Program(name, recipe["code"], False, {**whole.files, **changed}, whole.target, folder))
    return tuple(found)


def _texts(path: Path) -> dict[str, str]:
    if path.is_file():
        return {path.name: path.read_text(encoding="utf-8")}
    files = sorted(path.rglob("*.py"))
    return {file.relative_to(path).as_posix(): file.read_text(encoding="utf-8") for file in files}


def sample(cases: Iterable[T], share: float, name: Callable[[T], str] = str) -> list[T]:
    """The same part of the cases on every machine and in every order, by a hash of what a case is called."""
    return [case for case in cases if _chance(name(case)) < share]


def daily(cases: Iterable[T], share: float = 1.0, name: Callable[[T], str] = str) -> list[Any]:
    """A sample as the cases of a test. An eighth of it runs by default, the rest with ``-m slow``."""
    return [_param(case, slow=_chance(name(case)) >= share / 8) for case in sample(cases, share, name)]


def _param(case: Any, *, slow: bool) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=[pytest.mark.slow] if slow else [])


def _chance(name: str) -> float:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big") / 2**48
