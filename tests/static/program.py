"""Small programs put before the static analysis, without a file on disk."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from fsdp2_lint.catalogue import registry
from fsdp2_lint.static.budget import BUDGET
from fsdp2_lint.static.check import check
from fsdp2_lint.static.result import Request, Result
from fsdp2_lint.vocab.rule import for_target
from fsdp2_lint.vocab.target import NEWEST, Version

ROOT = "/program"
HEAD = """\
import os
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.fsdp import fully_shard
"""
NET = """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(64, 256)
        self.down = nn.Linear(256, 64)

    def forward(self, x):
        return x + self.down(self.up(x).relu())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 64)
        self.layers = nn.ModuleList([Block() for _ in range(8)])
        self.head = nn.Linear(64, 100)

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
"""
FOOT = """

if __name__ == "__main__":
    main()
"""


@dataclass(frozen=True)
class Analysis:
    result: Result

    @property
    def found(self) -> list[tuple[str, str, int]]:
        """(code, file, row) of each finding."""
        sites = [(each.code, each.primary.site) for each in self.result.findings]
        return sorted((code, site.path.removeprefix(f"{ROOT}/"), site.row) for code, site in sites)

    @property
    def codes(self) -> list[str]:
        return sorted(each.code for each in self.result.findings)

    def verdicts(self, code: str) -> set[str]:
        """What is said of a clause, over all models and programs."""
        subjects = [*self.result.models, *self.result.followed]
        return {clause.word for subject in subjects for clause in subject.rules if clause.code == code}

    def reasons(self, code: str) -> list[str]:
        clauses = [clause for model in self.result.models for clause in model.rules if clause.code == code]
        return [reason for clause in clauses for reason in clause.reasons]


def analyse(program: str | Mapping[str, str | bytes], *, torch: Version = NEWEST) -> Analysis:
    """Check a program, for a version of torch: one text (``train.py``) or several files by name."""
    files = {"train.py": program} if isinstance(program, str) else program
    overlay = {f"{ROOT}/{name}": text.encode() if isinstance(text, str) else text for name, text in files.items()}
    rules = for_target(registry.rules(), torch)
    result = check(Request(files=sorted(overlay), root=ROOT, overlay=overlay, rules=rules))
    assert not result.broken, result.broken
    return Analysis(result)


@contextmanager
def limited(**limits: float) -> Iterator[None]:
    """Other limits than those of the table, for as long as this lasts."""
    before = {name: getattr(BUDGET, name) for name in limits}
    for name, value in limits.items():
        object.__setattr__(BUDGET, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            object.__setattr__(BUDGET, name, value)


def script(main: str, before: str = "", *, net: str = NET) -> str:
    """A training script around the body of ``main``."""
    body = textwrap.indent(textwrap.dedent(main).strip("\n"), "    ")
    return f"{HEAD}{textwrap.dedent(before)}\n\n{net}\n\ndef main():\n{body}\n{FOOT}"


def line_of(text: str, mark: str) -> int:
    """The row of the only line that contains ``mark``."""
    (row,) = [number for number, line in enumerate(text.splitlines(), 1) if mark in line]
    return row
