"""Edits that change nothing of what a program does change nothing of what is said of it.

Each program is rewritten as syntax trees, in which every node remembers the statement that it comes from. Findings
must stay at their statements, and each clause must have the same verdict for each model.
"""

from __future__ import annotations

import ast
from random import Random

import pytest

from tests.locks import neutral, neutral_definitions
from tests.locks.neutral import Edit
from tests.locks.programs import Program, analyse, daily, examples, pages, planted, projects, sample
from tests.locks.trees import NOWHERE, Trees, moved, own, places, statements, trees, where

EDITS: dict[str, Edit] = {
    "written anew": lambda given, chance: True,
    "extract": neutral_definitions.extract,
    "inline": neutral_definitions.inline,
    "def main()": neutral_definitions.main,
    "split": neutral_definitions.split,
    "aliases": neutral.aliases,
    "dead code": neutral.dead_code,
    "imports": neutral.other_order_of_imports,
    "temporaries": neutral.temporaries,
    "finally": neutral.in_finally,
    "nullcontext": neutral.in_nullcontext,
    "if True": neutral.in_if_true,
}
ALL = (*pages(), *examples(), *projects(), *planted())


def edited(program: Program, edits: list[str], chance: Random) -> list[str]:
    """What a sequence of edits changes in what is said."""
    given = trees(program)
    done = [name for name in edits if EDITS[name](given, chance)]
    if not done:
        return []
    now = given.rewritten(" + ".join(done))
    before, after = analyse(program), analyse(now)
    places_now = places(after, now, where(given, now))
    said = [f"{now.name}: {what}" for what in moved(own(before, program), places_now)]
    words = set(before.table()) ^ set(after.table())
    return said + [f"{now.name}: {what}" for what in sorted(words)]


def combination(chance: Random) -> list[str]:
    return [chance.choice(list(EDITS)) for _ in range(chance.randint(4, 6))]


CASES = [(program, edit) for program in ALL for edit in EDITS]


def name_of_case(case: tuple[Program, str]) -> str:
    return f"{case[0]}-{case[1]}"


@pytest.mark.parametrize(("program", "edit"), daily(CASES, 0.008, name_of_case), ids=str)
def test_a_neutral_edit_changes_nothing(program: Program, edit: str) -> None:
    assert edited(program, [edit], Random(program.name)) == []


@pytest.mark.parametrize("program", daily(ALL, 0.05), ids=str)
def test_neither_do_several(program: Program) -> None:
    chance = Random(program.name)
    assert edited(program, combination(chance), chance) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", [program for program in ALL if program not in planted()], ids=str)
def test_no_neutral_edit_changes_anything(program: Program) -> None:
    assert {edit: changed for edit in EDITS if (changed := edited(program, [edit], Random(program.name)))} == {}


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", ALL, ids=str)
def test_nor_do_any_several(program: Program) -> None:
    for seed in range(3):
        chance = Random(f"{seed} {program.name}")
        assert edited(program, combination(chance), chance) == [], seed


# --- the lock itself: an edit that does change the program is seen ---


def without_a_sharding_call(given: Trees) -> None:
    for tree in given.files.values():
        for node in statements(tree):
            if isinstance(node, ast.Expr) and ast.unparse(node).startswith("fully_shard("):
                node.value = ast.Constant(None)


def test_what_is_not_neutral_is_seen() -> None:
    program = next(each for each in projects() if each.name == "single_script")
    given = trees(program)
    without_a_sharding_call(given)
    now = given.rewritten("without sharding")
    assert analyse(now).table() != analyse(program).table()


def test_a_finding_that_moves_is_seen() -> None:
    program = next(each for each in pages() if each.clause == "FSDP601" and not each.good)
    given = trees(program)
    now = given.rewritten("")
    elsewhere = dict.fromkeys(where(given, now), NOWHERE)
    there = places(analyse(now), now, where(given, now))
    assert moved(own(analyse(program), program), there) == []
    told = moved(own(analyse(program), program), places(analyse(now), now, elsewhere))
    assert [each[:5] for each in told] == ["lost:", "new: "]


@pytest.mark.slow
@pytest.mark.parametrize("edit", EDITS)
def test_each_edit_finds_a_place_in_most_programs(edit: str) -> None:
    programs = sample(ALL, 0.02)
    changed = [EDITS[edit](trees(program), Random(program.name)) for program in programs]
    assert sum(changed) > 0.6 * len(changed)
