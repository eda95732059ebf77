"""Ten thousand programs that nobody writes, and the tool ends well on each: no internal error, within its budget.

They are real programs, changed at random, so most of them still reach a sharding call and with it the whole engine.
"""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from fsdp2_lint.static import following
from fsdp2_lint.static.budget import BUDGET
from tests.locks.every_file import trouble
from tests.locks.mutants import mutant
from tests.locks.programs import ROOT, daily

FIRST = 300  # in the default suite
ALL = 10_000
PART = 20


def overlay(seed: int) -> dict[str, bytes]:
    """The files of a mutant; none where the edits gave no text that can be parsed."""
    program = mutant(seed)
    files = program.files if program is not None else {}
    return {f"{ROOT}/{name}": text.encode("utf-8", "surrogatepass") for name, text in files.items()}


class Watched(following.Interpreter[Any]):
    """Remembers what ran: its steps, and whether it came to a sharding call."""

    ran: ClassVar[list[Watched]] = []

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        Watched.ran.append(self)


def check(seeds: range) -> tuple[list[str], int]:
    """What went wrong, and how many of the programs came to a sharding call."""
    wrong, reached = [], 0
    for seed in seeds:
        Watched.ran.clear()
        files = overlay(seed)
        wrong += [f"mutant {seed}: {each.what}" for each in (trouble(sorted(files), files) if files else ())]
        most = max((machine.steps for machine in Watched.ran), default=0)
        wrong += [f"mutant {seed}: {most} steps"] * (most > BUDGET.script_steps + 1)
        reached += any(machine.libraries.any_sharded for machine in Watched.ran)
    return wrong, reached


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "Interpreter", Watched)


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("first", daily(range(0, FIRST, PART)))
def test_no_internal_error(first: int) -> None:
    wrong, reached = check(range(first, first + PART))
    assert wrong == []
    assert reached >= PART // 2, "most of them must reach the engine"


@pytest.mark.exhaustive
@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("first", range(FIRST, ALL, PART))
def test_no_internal_error_in_any(first: int) -> None:
    wrong, _ = check(range(first, first + PART))
    assert wrong == []


def test_mutants_are_the_same_each_time() -> None:
    assert [overlay(seed) for seed in range(20)] == [overlay(seed) for seed in range(20)]
