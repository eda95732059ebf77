"""What is made unseen is never upheld: a verdict may become unknown, or be proved by what is left.

One file, class, function or call of a program is hidden. Where the complete program breaks a clause, so does the one
with the hidden part, for only the analysis sees less of it: it must not be told that the rule is upheld. The complete
programs are those that are bad anyway, and correct ones whose part to be hidden is made bad first.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

import pytest

from fsdp2_lint.static.result import ModelVerdicts
from tests.locks.damage import damaged
from tests.locks.edits import (
    called,
    calls,
    defined_names,
    definitions,
    imported,
    module_of,
    put,
    source,
    span,
)
from tests.locks.programs import Program, Seen, analyse, daily, examples, pages, planted, projects, sample

UNSEEN = "mystery_pkg"

# --- what is hidden ---


def without_file(program: Program) -> Iterator[Program]:
    """A file is not there any more, and who imports it imports it from a package that is not there."""
    for file in program.files:
        if file.endswith(".py") and not file.endswith("__init__.py") and (files := _moved(program.files, file)):
            yield program.with_files(files, f" without {file}")


def _moved(files: Mapping[str, str], file: str) -> dict[str, str] | None:
    """None if no other file imports it: what is not imported is a program of its own."""
    left = {name: _from_elsewhere(name, text, file) for name, text in files.items() if name != file}
    return left if any(left[name] != files[name] for name in left) else None


def _from_elsewhere(importer: str, text: str, file: str) -> str:
    """A plain ``import`` keeps its name, which then leads nowhere just as well."""
    for node in ast.walk(ast.parse(text)) if importer.endswith(".py") else ():
        if isinstance(node, ast.ImportFrom) and _means(importer, node, file):
            names = ", ".join(f"{each.name} as {each.asname}" if each.asname else each.name for each in node.names)
            text = put(text, span(text, node), f"from {UNSEEN}.{module_of(file)} import {names}")
    return text


def _means(importer: str, node: ast.ImportFrom, file: str) -> bool:
    """Absolute names may begin in the importer's folder too."""
    wanted, found = module_of(file), imported(importer, node)
    return found == wanted or not node.level and wanted.endswith(f".{found}") and "/" in importer


def without_definition(program: Program) -> Iterator[Program]:
    """A function or class comes out of a package that is not there."""
    for file, text in program.files.items():
        for node in definitions(ast.parse(text)) if file.endswith(".py") else ():
            hidden = put(text, span(text, node), f"from {UNSEEN} import {node.name}")
            yield program.with_files({**program.files, file: hidden}, f" without {file}:{node.name}")


def behind_name(program: Program) -> Iterator[Program]:
    """What is called is the value of a text: ``eval("shard")(model)``."""
    for file, text, call in _own_calls(program):
        at = span(text, call.func)
        if at.row == at.end_row:
            hidden = put(text, at, f"eval({source(text, at)!r})")
            yield program.with_files({**program.files, file: hidden}, f" eval() of {file}:{call.lineno} {called(call)}")


def behind_call(program: Program) -> Iterator[Program]:
    """A whole call is a text: ``eval("shard(model)")``. Rows that it took stay inside the brackets."""
    for file, text, call in _own_calls(program):
        at = span(text, call)
        rows = "\n" * (at.end_row - at.row)
        hidden = put(text, at, f"eval({rows}{ast.unparse(call)!r})")
        yield program.with_files({**program.files, file: hidden}, f" eval of {file}:{call.lineno} {called(call)}()")


def _own_calls(program: Program) -> Iterator[tuple[str, str, ast.Call]]:
    names = defined_names(program.files)
    for file, text in program.files.items():
        for call in calls(ast.parse(text)) if file.endswith(".py") else ():
            if called(call) in names and not _uses_special_scope(call):
                yield file, text, call


def _uses_special_scope(call: ast.Call) -> bool:
    """``super()`` and ``await`` mean something else inside ``eval``."""
    return any(
        isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr))
        or isinstance(node, ast.Call)
        and called(node) == "super"
        for node in ast.walk(call)
    )


HIDINGS = (without_file, without_definition, behind_name, behind_call)

# --- what must not be said ---


def false_upholds(whole: Seen, hidden: Seen) -> list[str]:
    """Rules that the complete program violates for a model for which the other one says *upheld*.

    A model is the same where label and place are. One that is in neither list of the complete program took some
    model's place: it may be upheld only as long as there are models that were upheld and are not there any more.
    """
    return [
        f"{code} upheld for {model.label} at {model.site}"
        for code in sorted(violated(whole))
        for model in _beyond(_with(whole, code, "upheld"), _with(hidden, code, "upheld"))
    ]


def violated(seen: Seen) -> set[str]:
    """The clauses that some model violates."""
    return {clause.code for model in seen.models for clause in model.rules if clause.word == "violated"}


def _with(seen: Seen, code: str, word: str) -> list[ModelVerdicts]:
    return [model for model in seen.models if any((each.code, each.word) == (code, word) for each in model.rules)]


def _beyond(before: list[ModelVerdicts], now: list[ModelVerdicts]) -> list[ModelVerdicts]:
    """The models of now that cannot be those of before."""
    left = {_identity(model) for model in before}
    strangers = [model for model in now if _identity(model) not in left]
    gone = left - {_identity(model) for model in now}
    return strangers[len(gone) :]


def _identity(model: ModelVerdicts) -> tuple[str, str, int]:
    return model.label, model.site.path, model.site.row


complete = lru_cache(maxsize=16)(analyse)


def wrongly_upheld(program: Program, hidden: Iterable[Program], codes: Iterable[str] = ()) -> list[str]:
    """What is upheld in a variant of a program and violated in the program; of all clauses, or of ``codes``."""
    every = [(each, what) for each in hidden for what in false_upholds(complete(program), analyse(each))]
    return [f"{each.name}: {what}" for each, what in every if not codes or what.split()[0] in codes]


def hidings(program: Program, part: str = "") -> Iterator[Program]:
    """All variants, or those that hide a definition: its file, itself, or what calls it."""
    for hide in HIDINGS:
        for each in hide(program):
            what = each.name.removeprefix(program.name)
            if not part or hide is without_file or re.search(rf"[ :]{part}(\(\))?$", what):
                yield each


# --- bad programs ---

BAD = [program for program in (*pages(), *examples()) if not program.good]


@pytest.mark.parametrize("program", daily(BAD, 0.2), ids=str)
def test_a_fault_with_a_hidden_part_is_not_upheld(program: Program) -> None:
    assert wrongly_upheld(program, hidings(program)) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", BAD, ids=str)
def test_any_fault_with_a_hidden_part_is_not_upheld(program: Program) -> None:
    assert wrongly_upheld(program, hidings(program)) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", planted(), ids=str)
def test_a_planted_fault_with_a_hidden_part_is_not_upheld(program: Program) -> None:
    assert wrongly_upheld(program, sample(hidings(program), 0.1)) == []


# --- correct programs, of which a part could have been bad ---

# A second fully_shard raises: what else is wrong after it, such as an optimizer that is now too early, never happens.
RAISES = {"FSDP305"}
GOOD = [program for program in (*pages(), *examples(), *projects()) if program.good]


def upheld_in_spite_of_harm(program: Program, share: float) -> list[str]:
    found: list[str] = []
    cases = {case.name: (file, name, case) for file, name, case in damaged(program)}
    for chosen in sample(cases, share):
        file, name, case = cases[chosen]
        if harmed := violated(complete(case)) - violated(complete(program)):
            variants = [each for each in hidings(case, name) if each.files.get(file) != case.files[file]]
            found += wrongly_upheld(case, variants, harmed & RAISES or harmed)
    return found


@pytest.mark.parametrize("program", sample(GOOD, 0.04), ids=str)
def test_what_a_hidden_part_could_do_is_not_excluded(program: Program) -> None:
    assert upheld_in_spite_of_harm(program, 0.1) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", GOOD, ids=str)
def test_what_any_hidden_part_could_do_is_not_excluded(program: Program) -> None:
    assert upheld_in_spite_of_harm(program, 0.3) == []


# --- the lock itself ---

HELPER = """\
from torch import nn
from torch.distributed.fsdp import fully_shard


def tie(model):
    model.head.weight = model.embed.weight
    return model


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(64, 64), nn.Linear(64, 64, bias=False)


model = tie(Net())
fully_shard(model.embed)
fully_shard(model)
"""


def test_the_lock_sees_what_is_upheld_and_was_violated() -> None:
    bad = Program("tied", "FSDP307", False, {"train.py": HELPER})
    good = bad.with_files({"train.py": HELPER.replace("model.head.weight = model.embed.weight", "pass")})
    assert complete(bad).words("FSDP307") == ["violated"]
    assert analyse(good).words("FSDP307") == ["upheld"]
    assert [each[:7] for each in false_upholds(complete(bad), analyse(good))] == ["FSDP307"]
    assert false_upholds(analyse(good), complete(bad)) == []


def test_what_is_hidden_is_gone_and_all_else_keeps_its_row() -> None:
    bad = Program("tied", "FSDP307", False, {"train.py": HELPER})
    texts = [each.files["train.py"] for each in hidings(bad, "tie")]
    assert [text.count("embed.weight") for text in texts] == [0, 1, 1]
    assert {text.split("\n").index("fully_shard(model.embed)") for text in texts} == {16}
    assert "eval('tie')(Net())" in texts[1] and "eval('tie(Net())')" in texts[2]
