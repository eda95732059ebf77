"""A call in the proof goes through something unknown: what that could have prevented is not reported.

Whether it could is found out by showing what it does (:data:`tests.locks.wraps.COULD`). If a finding is there while
the wrapper only calls what it was given, and is gone when the wrapper does more, the wrapper could prevent it. Then
nothing may be reported in the same program when the wrapper comes out of a package that is not there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.locks.edits import definitions
from tests.locks.programs import Program, Seen, analyse, examples, name_of, pages, sample
from tests.locks.trees import Origin, Trees, innermost, where
from tests.locks.wraps import (
    COULD,
    FORMS,
    NOTHING,
    PLACES,
    SKIP,
    Could,
    decorated,
    inside,
    sites,
    through,
    with_shown,
)

BAD = [program for program in (*pages(), *examples()) if not program.good]
Fault = tuple[str, Origin]


def faults(program: Program) -> list[tuple[Fault, set[Origin]]]:
    """The findings of a program, each with the statements of its proof."""
    found = []
    for finding in analyse(program).findings:
        proof = {innermost(program.files[name_of(site.path)], name_of(site.path), site.row) for site in finding.sites}
        at = finding.primary.site
        found.append(((finding.code, innermost(program.files[name_of(at.path)], name_of(at.path), at.row)), proof))
    return found


def variants(program: Program, proof: set[Origin]) -> Iterator[tuple[str, bool, Trees, Program, tuple[Trees, Program]]]:
    """(form, whether it need not call what it got, hidden program, the same with a wrapper that can be shown)."""
    for site in sites(program, proof):
        plain = through(program, site, FORMS["wrapper"])
        assert plain is not None
        for name, form in FORMS.items():
            if made := through(program, site, form):
                yield f"{name} at {site}", site.is_statement, *made, plain
        made = inside(program, site)
        yield f"context at {site}", False, *made, made
    for file, text in program.files.items():
        for node in definitions(ast.parse(text)) if file.endswith(".py") else ():
            if isinstance(node, ast.FunctionDef) and node.name != "main" and not node.decorator_list:
                made = decorated(program, file, node.name)
                yield f"decorator of {file}:{node.name}", False, *made, made


def prevents(fault: Fault, shown: tuple[Trees, Program], may_skip: bool) -> Could | None:
    """What a wrapper could do, so that the fault is none: the finding is gone, and not for want of understanding."""
    given, program = shown
    plain = with_shown(program, NOTHING, "out")
    if not is_there(fault, given, plain):
        return None
    for could in (*([SKIP] if may_skip else []), *(each for each in COULD if fault[0][4:] in each.clauses.split())):
        for it in PLACES if "{it}" in could.before + could.after else PLACES[:1]:
            now = with_shown(program, could, it)
            if not is_there(fault, given, now) and not _is_worse(fault[0], analyse(plain), analyse(now)):
                return could
    return None


def is_there(fault: Fault, given: Trees, now: Program) -> bool:
    """Is this reported at its statement?"""
    code, at = fault
    rows = [(file, row) for each, file, row in analyse(now).places if each == code and file in given.files]
    meant = where(given, now) if rows else {}
    return any(at in meant[innermost(now.files[file], file, row)] for file, row in rows)


def _is_worse(code: str, before: Seen, now: Seen) -> bool:
    """The clause is not understood any more, or another one is broken instead, which may hide this one."""
    return "unknown" in now.words(code) or not set(now.codes) <= set(before.codes)


def not_excluded(program: Program, share: float = 1) -> list[str]:
    """What is reported although the unknown could have prevented it."""
    found = []
    for fault, proof in faults(program):
        cases = sample(variants(program, proof), share, lambda each: program.name + each[0])
        for name, may_skip, given, hidden, shown in cases:
            if is_there(fault, given, hidden) and (could := prevents(fault, shown, may_skip)):
                found.append(f"{program.name}, {name}: {fault[0]} at {fault[1]}, although it could {could.name}")
    return found


@pytest.mark.parametrize("program", sample(BAD, 0.15), ids=str)
def test_what_the_unknown_could_prevent_is_not_reported(program: Program) -> None:
    assert not_excluded(program, 0.2) == []


@pytest.mark.slow
@pytest.mark.parametrize("program", BAD, ids=str)
def test_nothing_that_the_unknown_could_prevent_is_reported(program: Program) -> None:
    assert not_excluded(program) == []


# --- the table itself: each line of it prevents something ---


def first_prevented(could: Could, code: str) -> str:
    """A program in which a wrapper that does this takes the finding away; "" if there is none."""
    for program in (each for each in BAD if each.clause == f"FSDP{code}"):
        for fault, proof in faults(program):
            for name, _, _, _, shown in variants(program, proof):
                if fault[0] == program.clause and prevents(fault, shown, False) is could:
                    return f"{program}: {name}"
    return ""


@pytest.mark.slow
@pytest.mark.parametrize(("could", "code"), [(could, code) for could in COULD for code in could.clauses.split()])
def test_each_line_of_the_table_prevents_something(could: Could, code: str) -> None:
    assert first_prevented(could, code)
