"""Rank files and findings that no job wrote."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fsdp2_lint.report.codec import fact_as_json, finding_as_json
from fsdp2_lint.report.rank_file import VERSION, RankFile
from fsdp2_lint.vocab.facts import Fact
from fsdp2_lint.vocab.finding import Finding, Label, Moment, Observed, Severity, Site


def site(row: int, path: str = "/job/train.py") -> Site:
    return Site(path, row, 1, row, 20)


def finding(
    code: str = "FSDP601",
    row: int = 3,
    severity: Severity = Severity.ERROR,
    *,
    path: str = "/job/train.py",
    ranks: tuple[int, ...] | None = None,
    step: int | None = 1,
    fqn: str = "",
    message: str = "it is wrong",
) -> Finding:
    observed = None if ranks is None else Observed(ranks, step, fqn)
    return Finding(code, "a-clause", severity, message, Label(site(row, path), "here"), "help", observed=observed)


def fact(
    values: Mapping[str, str],
    kind: str = "plan",
    key: str = "Net",
    ranks: tuple[int, ...] = (0, 1),
    *,
    row: int = 9,
    places: Mapping[str, Site] | None = None,
    traits: Mapping[str, str] | None = None,
    step: int | None = 1,
) -> Fact:
    if places is None:
        places = {name: site(20 + number) for number, name in enumerate(values)}
    return Fact(kind, key, Moment(site(row)), ranks, dict(values), dict(places), dict(traits or {}), step)


Record = Finding | Fact | tuple[str, dict[str, Any]]


def write(
    folder: Path,
    rank: int,
    *said: Record,
    world_size: int = 2,
    run: str = "job/localhost",
    version: int = VERSION,
    attempt: int = 0,
    sharded: bool = True,
    steps: int | None = 3,
    end: int | None = 0,
    age: float = 0.0,
) -> Path:
    """One rank's file. ``end=None``: it was killed. ``age``: seconds since it was written."""
    file = RankFile(folder, rank, attempt)
    began = time.time() - age
    file.write("start", version=version, run=run, rank=rank, world_size=world_size, attempt=attempt, time=began)
    if sharded:
        file.write("sharded")
    for each in said:
        if isinstance(each, Finding):
            file.write("finding", **finding_as_json(each))
        elif isinstance(each, Fact):
            file.write("fact", **fact_as_json(each))
        else:
            file.write(each[0], **each[1])
    if steps is not None:
        file.write("closed", why="end", steps=steps)
    if end is not None:
        file.write("end", code=end)
    file.close()
    if age:
        then = file.path.stat().st_mtime - age
        os.utime(file.path, (then, then))
    return file.path
