"""A call in the proof goes through something unknown: what that could have prevented is not reported.

Whether it could is found out by showing what it does (:data:`tests.locks.wraps.COULD`). If a finding is there while
the wrapper only calls what it was given, and is gone when the wrapper does more, the wrapper could prevent it. Then
nothing may be reported in the same program when the wrapper comes out of a package that is not there.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from tests.locks.edits import definitions
from tests.locks.programs import Program, Seen, analyse, daily, examples, name_of, pages, sample
from tests.locks.scopes import bound, read
from tests.locks.trees import Origin, Trees, innermost, statements, where
from tests.locks.wraps import (
    COULD,
    FORMS,
    NOTHING,
    SKIP,
    SURELY,
    TOO_LATE,
    Could,
    Site,
    decorated,
    inside,
    last_name,
    sites,
    subjects,
    through,
    with_shown,
)

BAD = [program for program in (*pages(), *examples()) if not program.good]
Fault = tuple[str, Origin]
BY_NAME = ("computed name", "name in json")


def faults(program: Program) -> list[tuple[Fault, set[Origin]]]:
    """The findings of a program, each with the statements of its proof."""
    found = []
    for finding in analyse(program).findings:
        proof = {innermost(program.files[name_of(site.path)], name_of(site.path), site.row) for site in finding.sites}
        at = finding.primary.site
        found.append(((finding.code, innermost(program.files[name_of(at.path)], name_of(at.path), at.row)), proof))
    return found


@dataclass(frozen=True)
class Variant:
    """A program with one call through the unknown, and the same with a wrapper that can be shown.

    ``objects`` are the models and optimizers that the wrapper has in hand: its word for each, and the kind.
    """

    name: str
    given: Trees
    hidden: Program
    shown: Program
    objects: dict[str, str]
    site: Site | None = None
    may_skip: bool = False

    def __str__(self) -> str:
        return self.hidden.name + self.name


def variants(program: Program, proof: set[Origin]) -> Iterator[Variant]:
    """Calls in the proof, and others near them that get something of which the proof speaks."""
    kinds = subjects(program)
    for site in sites(program, proof | _near(program, proof)):
        plain = through(program, site, FORMS["wrapper"])
        assert plain is not None
        objects = {place: kinds[name] for place, name in site.objects if name in kinds}
        may_skip = site.is_statement and (site.file, site.row) in proof
        for name, form in FORMS.items():
            if made := through(program, site, form):
                yield Variant(f"{name} at {site}", *made, plain[1], objects, site, may_skip)
        names = tuple(name for place, name in site.objects if name in kinds and place.startswith("args"))
        given, hidden = inside(program, site, names)
        objects = {f"args[{at}]": kinds[name] for at, name in enumerate(names)}
        yield Variant(f"context at {site}", given, hidden, hidden, objects, site)
    yield from _decorated(program, kinds)


def _decorated(program: Program, kinds: dict[str, str]) -> Iterator[Variant]:
    for file, text in program.files.items():
        for node in definitions(ast.parse(text)) if file.endswith(".py") else ():
            if isinstance(node, ast.FunctionDef) and node.name != "main" and not node.decorator_list:
                places = [(f"args[{at}]", each.arg) for at, each in enumerate(node.args.args)]
                returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value]
                places += [("out", last_name(each)) for each in returned]
                given, hidden = decorated(program, file, node.name)
                objects = {place: kinds[name] for place, name in places if name in kinds}
                yield Variant(f"decorator of {file}:{node.name}", given, hidden, hidden, objects)


def _near(program: Program, proof: set[Origin]) -> set[Origin]:
    """Simple statements of a function that holds some of the proof, if they read what that binds or reads."""
    found = set()
    for file, tree in ((file, ast.parse(text)) for file, text in program.files.items() if file.endswith(".py")):
        known = bound(*(each for each in tree.body if not isinstance(each, ast.Assign))) | set(dir(builtins))
        words = _words(program, proof) - known
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            inner = [each for each in statements(function) if isinstance(each, (ast.Expr, ast.Assign))]
            if any((file, each.lineno) in proof for each in inner):
                found |= {(file, each.lineno) for each in inner if read(each) & words}
    return found


def _words(program: Program, proof: set[Origin]) -> set[str]:
    """Names in the simple statements of a proof."""
    trees = {file: ast.parse(text) for file, text in program.files.items() if file.endswith(".py")}
    nodes = [node for file, tree in trees.items() for node in statements(tree) if (file, node.lineno) in proof]
    simple = [node for node in nodes if isinstance(node, (ast.Expr, ast.Assign, ast.Return))]
    return read(*simple) | bound(*simple)


def prevents(fault: Fault, variant: Variant) -> Could | None:
    """What a wrapper could do, so the finding is not proved any more."""
    plain = with_shown(variant.shown, NOTHING, "out")
    if not is_there(fault, variant.given, plain):
        return None
    could = [each for each in COULD if fault[0][4:] in each.rules.split() and _is_possible(fault, variant, each)]
    for each in (*([SKIP] if variant.may_skip else []), *could):
        places = [
            place
            for place, kind in variant.objects.items()
            if kind == each.kind and not (each.before and place == "out")
        ]
        for it in places if "{it}" in each.before + each.after else ("",):
            now = with_shown(variant.shown, each, it)
            if not is_there(fault, variant.given, now) and not _is_worse(analyse(plain), analyse(now)):
                return each
    return None


def _is_possible(fault: Fault, variant: Variant, could: Could) -> bool:
    """In time, and in reach: what has a computed name is still a method of the object."""
    code, (file, row) = fault
    site = variant.site
    if site is not None and site.text.split(".")[-1] == TOO_LATE.get(code):
        return False
    if variant.name.startswith(BY_NAME) and not could.is_method:
        return False
    return not could.late or site is not None and site.file == file and site.row > row


def is_there(fault: Fault, given: Trees, now: Program) -> bool:
    """Is this reported at its statement?"""
    code, at = fault
    rows = [(file, row) for each, file, row in analyse(now).places if each == code and file in given.files]
    meant = where(given, now) if rows else {}
    return any(at in meant[innermost(now.files[file], file, row)] for file, row in rows)


def _is_worse(before: Seen, now: Seen) -> bool:
    """Another clause is broken instead, which may hide this one. Unknown is enough: merely calling left it proved."""
    return not set(now.codes) <= set(before.codes)


def not_excluded(program: Program, share: float = 1) -> list[str]:
    """What is reported although the unknown could have prevented it."""
    found = []
    for fault, proof in faults(program):
        for each in sample(variants(program, proof), share):
            if is_there(fault, each.given, each.hidden) and (could := prevents(fault, each)):
                found.append(f"{program.name}, {each.name}: {fault[0]} at {fault[1]}, although it could {could.name}")
    return found


@pytest.mark.parametrize("program", daily(BAD, 0.15), ids=str)
def test_what_the_unknown_could_prevent_is_not_reported(program: Program) -> None:
    assert not_excluded(program, 0.2) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", BAD, ids=str)
def test_nothing_that_the_unknown_could_prevent_is_reported(program: Program) -> None:
    assert not_excluded(program) == []


@pytest.mark.parametrize("program", [each for each in BAD if each.clause in SURELY], ids=str)
def test_nothing_is_proved_of_a_call_that_is_not_seen(program: Program) -> None:
    names, why = SURELY[program.clause]
    for fault, proof in faults(program):
        proving = [site for site in sites(program, proof) if site.text.split(".")[-1] in names]
        if fault[0] != program.clause or len(proving) > 1:
            continue  # of several each proves a part, and the others still hold
        for site in proving:
            for form in FORMS.values():
                made = through(program, site, form)
                assert made is None or not is_there(fault, *made), f"{site}: {why}\n{made[1].files[site.file]}"


# --- the table itself: each line of it prevents something ---


SHOWN_ONCE = ("wrapper", "context", "decorator")  # the other forms are shown as a wrapper too


def first_prevented(could: Could, code: str) -> str:
    """A program in which a wrapper that does this takes the finding away; "" if there is none."""
    for program in (each for each in BAD if each.clause == f"FSDP{code}"):
        for fault, proof in faults(program):
            for each in (each for each in variants(program, proof) if each.name.startswith(SHOWN_ONCE)):
                if fault[0] == program.clause and prevents(fault, replace(each, may_skip=False)) is could:
                    return str(each)
    return ""


@pytest.mark.exhaustive
@pytest.mark.parametrize(("could", "code"), [(could, code) for could in COULD for code in could.rules.split()])
def test_each_line_of_the_table_prevents_something(could: Could, code: str) -> None:
    assert first_prevented(could, code)
