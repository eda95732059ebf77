"""However many processes follow the programs, and whatever becomes of them, the same is said."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.settings.environment import possible_jobs
from fsdp2_lint.static import workers
from fsdp2_lint.static.cache.store import Store
from fsdp2_lint.static.check import check
from fsdp2_lint.static.following import Followed
from fsdp2_lint.static.result import Request, Rests, Result
from tests.locks.programs import ROOT, examples, projects

pytestmark = pytest.mark.skipif(possible_jobs() < 2, reason="one processor, or processes that cannot be forked")


def everything() -> dict[str, str]:
    """Several programs side by side, so that there is more than one to follow; one file does not parse."""
    programs = [*projects()[::6], *examples()[::4]]
    files = {f"p{at}/{name}": text for at, each in enumerate(programs) for name, text in each.files.items()}
    return {**files, "p1/wrong.py": "from torch.distributed.fsdp import fully_shard\ndef (:\n"}


def said(jobs: int, store: Store | None = None) -> Result:
    overlay = {f"{ROOT}/{name}": text.encode() for name, text in everything().items()}
    request = Request(files=sorted(overlay), root=ROOT, overlay=overlay, rules=registry.rules())
    return replace(check(request, jobs=jobs, store=store), texts={}, rests=Rests())


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tasks were given to other processes, each time."""
    monkeypatch.setattr(workers, "BREAK_EVEN", 0)
    given: list[int] = []
    really = workers.Workers._at_once

    def counted(self: workers.Workers, tasks: list[workers.Task]) -> list[workers.Sighting]:
        given.append(len(tasks))
        return really(self, tasks)

    monkeypatch.setattr(workers.Workers, "_at_once", counted)
    return given


@pytest.mark.slow
def test_the_same_by_one_and_by_many(forked: list[int], tmp_path: Path) -> None:
    alone = said(1)
    assert not forked and alone.findings and alone.problems
    assert said(2) == alone and len(forked) > 1
    store = Store(tmp_path)
    assert said(3, store) == alone
    forked.clear()
    assert said(3, store) == alone and not forked, "all was kept"


def broken(name: str, end: Callable[[], None]) -> Callable[..., Followed]:
    """Follows programs as ever, but for what becomes of those of one file in other processes."""
    here, really = os.getpid(), workers.follow

    def follow(project: object, rules: object, entry: workers.Entry, *rest: object, **more: object) -> Followed:
        if os.getpid() != here and name in entry.path:
            end()
        return really(project, rules, entry, *rest, **more)  # type: ignore[arg-type]

    return follow


def test_a_process_that_is_killed_costs_no_finding(forked: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    alone = said(1)
    monkeypatch.setattr(workers, "follow", broken("p2/", lambda: os.kill(os.getpid(), 9)))
    with_loss = said(2)
    assert any("a process that followed programs ended" in note for note in with_loss.notes)
    assert replace(with_loss, notes=alone.notes) == alone


def test_small_projects_have_no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "BREAK_EVEN", 10**9)
    monkeypatch.setattr(workers.Workers, "_at_once", lambda *given: pytest.fail("not worth it"))
    assert said(2).findings
