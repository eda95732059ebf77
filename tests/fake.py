"""A stand-in for the engine and for the clauses: the command line is tested without them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.static.result import Request
from fsdp2_lint.vocab.finding import Edit, Finding, Fix, Label, Severity, Site
from fsdp2_lint.vocab.rule import Rule


class Late(Rule):
    code, name, summary = "FSDP601", "optimizer-before-sharding", "the optimizer is built too early"
    severity, judged_by, help = Severity.ERROR, "SRP", "build it later"


class Root(Rule):
    code, name, summary = "FSDP602", "optimizer-after-forward", "the optimizer is built too late"
    severity, judged_by, help = Severity.WARNING, "SR", "build it earlier"


class Advice(Rule):
    code, name, summary = "FSDP907", "fsdp1-in-use", "FSDP1 in new code"
    severity, judged_by, help = Severity.INFO, "S", "migrate"


RULES = (Late(), Root(), Advice())
PAGE = """# {code}: {name}

What must hold.

## How to fix

Mend it.

## Wrong fixes

- Do not wait.

## What does not count

- Another thing.
"""


def site(path: object, row: int, column: int = 1, end_row: int = 0, end_column: int = 0) -> Site:
    return Site(str(path), row, column, end_row, end_column)


def finding(
    at: Site,
    *related: tuple[Site, str],
    code: str = "FSDP601",
    name: str = "optimizer-before-sharding",
    severity: Severity = Severity.ERROR,
    message: str = "the optimizer holds parameters that fully_shard replaces",
    label: str = "built here",
    help: str = "build it after the last fully_shard",
) -> Finding:
    labels = tuple(Label(*each) for each in related)
    return Finding(code, name, severity, message, Label(at, label), help, labels)


def with_fix(given: Finding, at: Site, text: str, *, safe: bool = True) -> Finding:
    return replace(given, fix=Fix((Edit(at, text),), safe))


def problem(path: object, message: str, row: int = 1, column: int = 1) -> SimpleNamespace:
    return SimpleNamespace(path=str(path), row=row, column=column, message=message, needs=None)


@dataclass(frozen=True)
class RuleVerdict:
    code: str
    word: str
    evidence: tuple[Label, ...]
    reasons: tuple[str, ...]
    settled_by: str


@dataclass(frozen=True)
class ModelVerdicts:
    label: str
    site: Site
    rules: tuple[RuleVerdict, ...]


def rule(code: str, word: str, *evidence: Label, reasons: tuple[str, ...] = (), settled_by: str = "") -> RuleVerdict:
    return RuleVerdict(code, word, evidence, reasons, settled_by)


@dataclass(frozen=True)
class ProgramVerdicts:
    kind: str
    name: str
    site: Site
    rules: tuple[RuleVerdict, ...]
    unfollowed: tuple[str, ...]
    ended: bool


def program(path: object, *rules: RuleVerdict, unfollowed: tuple[str, ...] = (), ended: bool = True) -> ProgramVerdicts:
    name = str(path).rpartition("/")[2]
    return ProgramVerdicts("script", name, site(path, 1), rules, unfollowed, ended)


def model(label: str, at: Site, *rules: RuleVerdict) -> ModelVerdicts:
    return ModelVerdicts(label, at, rules)


class Engine:
    """Returns what a test puts into it, and remembers how it was called."""

    def __init__(self) -> None:
        self.result = SimpleNamespace(
            findings=[],
            problems=[],
            models=[],
            followed=[],
            seen=[],
            files=0,
            out_of_budget=[],
            notes=[],
            broken=[],
            traces=[],
        )
        self.result.programs = self.result.cut = 0
        self.result.texts = {}
        self.calls: list[Request] = []
        self.raises: Callable[[], BaseException] | None = None

    def check(self, request: Request, **options: Any) -> SimpleNamespace:
        self.calls.append(request)
        if self.raises:
            raise self.raises()
        return self.result


def install(monkeypatch: pytest.MonkeyPatch) -> Engine:
    engine = Engine()
    module = ModuleType("fsdp2_lint.static.check")
    module.check = engine.check  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fsdp2_lint.static.check", module)
    monkeypatch.setattr(registry, "rules", lambda: RULES)
    monkeypatch.setattr(registry, "page", lambda rule: PAGE.format(code=rule.code, name=rule.name))
    return engine
