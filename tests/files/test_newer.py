"""Syntax of a newer Python is told from what no Python can parse, in both directions, and read where it can be."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fsdp2_lint.cli import invoke
from fsdp2_lint.files.newer import Reading, reading
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.lint import lint

OLD = (3, 10)  # by whose rules each is new; what its rewriting needs, this Python has too

# (name, text, the Python that it needs, is it read as the same program?)
NEW = [
    ("type parameters", "def f[T](x: T) -> T:\n    return x\n", (3, 12), True),
    ("of a method", "class A:\n    async def f[T: (int, str), *Ts, **P](self): ...\n", (3, 12), True),
    ("of a class", "class A[T]:\n    pass\n\nclass B[S: A](A):\n    pass\n", (3, 12), True),
    (
        "over rows",
        "def f[\n    T: dict[str, int],  # why\n\n    S,\n](x: T, y: S):\n    return x\nz = 1\n",
        (3, 12),
        True,
    ),
    ("with a default", "class A[T = int, *Ts = *tuple[int]]: ...\n", (3, 13), True),
    ("an alias", "type X = list[int]\nif X:\n    type Y[T] = dict[str, T]; z = 1\n", (3, 12), True),
    ("an alias over rows", "type X[\n    T,\n] = list[T]\nz = 1\n", (3, 12), True),
    ("its own quotes", 'a = {}\nx = f"{a["b"]} {a[\'c\']}"; y = 1\n', (3, 12), True),
    ("an f-string inside", "x = 1\ny = f'{f'{x}'} {'a'!r:>{'3'}}'\n", (3, 12), True),
    ("a backslash", "x = f\"{'\\n'.join(['a'])}\"; y = 1\n", (3, 12), True),
    ("deeper quotes", "x = f'{f'{f'{1}'}'}'\n", (3, 12), False),
    ("rows in a string", "x = f'{\n    1 +  # one\n    2\n}'\n", (3, 12), False),
    ("no brackets", "try:\n    pass\nexcept ValueError, OSError:\n    x = 1\n", (3, 14), True),
    ("no brackets, close", "try: pass\nexcept A,B: x = 1\n", (3, 14), True),
    ("a template", "x = 1\ny = t'{x} {x!r}'\n", (3, 14), False),
    ("groups", "try:\n    pass\nexcept* ValueError:\n    x = 1\n", (3, 11), False),
    ("a starred index", "i = 1,\nx = {}[*i]\n", (3, 11), False),
    ("lazy imports", "lazy import os, sys\nlazy from os import path\n", (3, 15), True),
    ("unpacking", "x = [*a for a in b]\ny = {**a for a in b}\n", (3, 15), False),
    ("several", "type X = int\ndef f[T](x):\n    return f'{x['a']}'\n", (3, 12), True),
    ("in Latin-1", "# coding: latin-1\ntype X = 'é'\n", (3, 12), True),
    ("with other ends", "type X = int\r\ndef f[\r\n  T\r\n](x): pass\r\n", (3, 12), True),
]

BROKEN = {
    "an empty list": "def f[](x): pass\n",
    "no parameters": "def f[1](x): pass\n",
    "half a bound": "def f[T: ](x): pass\n",
    "a bound that is none": "def f[T: 1 +](x): pass\n",
    "a keyword": "class A[if]: pass\n",
    "an open list": "def f[T(x): pass\n",
    "a list of a lambda": "f = lambda[T] x: x\n",
    "an alias without a value": "type X =\n",
    "an alias of a number": "type 1 = int\n",
    "an alias in brackets": "f(\n    type X = int\n)\n",
    "another bracket": "class A[T): pass\n",
    "an alias of two": "type X = int, str\n",
    "an escape that is none": "x = f'{'\\N{NO SUCH SIGN}'}'\n",
    "half an f-string": "x = f'{a['b']'\n",
    "an empty field": "x = f'{}' + f'{a['b']}'\n",
    "no expression in it": "x = f'{a['b'] b}'\n",
    "no expression over rows": "x = f'{\n  1 +\n}'\n",
    "half a template": "x = t'{1'\n",
    "an exception without a name": "try:\n    pass\nexcept , A:\n    pass\n",
    "several with a name": "try:\n    pass\nexcept A, B as e:\n    pass\n",
    "Python 2": "try:\n    pass\nexcept A, e:\n    print e\n",
    "lazy words": "lazy x import y\n",
    "two at once": "def f[T](x): return x x\n",
    "new and broken elsewhere": "type X = int\nfor\n",
    "stars": "x = [** a for a in b]\n",
    "no stars": "x = {}[*]\n",
    "a conflict": "<<<<<<< ours\nx = 1\n=======\nx = 2\n>>>>>>> theirs\n",
    "half a string": "x = 'abc\n",
}


def read(text: str, running: tuple[int, int] = OLD) -> Reading | None:
    return reading(text.encode("latin-1" if "latin-1" in text else "utf-8"), running)


@pytest.mark.parametrize(("text", "python", "same"), [each[1:] for each in NEW], ids=[each[0] for each in NEW])
def test_newer_syntax_is_known(text: str, python: tuple[int, int], same: bool) -> None:
    found = read(text)
    assert found is not None and (found.python, found.same) == (python, same)
    ast.parse(found.text)
    assert read(text, running=python) is None, "what a Python knows it parses itself"


@pytest.mark.parametrize("name", BROKEN)
def test_what_no_python_can_parse_stays_an_error(name: str) -> None:
    for running in (OLD, (3, 11), (3, 12), (3, 13), (3, 14), sys.version_info[:2]):
        assert read(BROKEN[name], running) is None


@pytest.mark.parametrize("text", [text for _, text, _, same in NEW if same], ids=[each[0] for each in NEW if each[3]])
def test_what_is_read_in_its_place_has_the_same_rows_and_nearly_the_same_columns(text: str) -> None:
    found = read(text)
    assert found is not None
    old, new = text.splitlines(), found.text.splitlines()
    assert len(old) == len(new)
    for before, after in zip(old, new):
        assert abs(len(before) - len(after)) <= 1
    if "z = 1" in text or "y = 1" in text or "x = 1" in text:
        name = next(each for each in ("z = 1", "y = 1", "x = 1") if each in text)
        assert all(abs(before.rfind(name) - after.rfind(name)) <= 1 for before, after in zip(old, new))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs a Python that reads it itself")
@pytest.mark.parametrize("text", [each[1] for each in NEW if each[2] <= (3, 12)], ids=str)
def test_the_cases_are_python(text: str) -> None:
    ast.parse(text.encode("latin-1" if "latin-1" in text else "utf-8"))


# -- in a check -------------------------------------------------------------------

HEAD = "import torch\nfrom torch.distributed.fsdp import fully_shard\n"
LATE = """\
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.AdamW(model.parameters())
{call}
model(torch.ones(2)).sum().backward()
optimizer.step()
"""


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., Report]:
    def run(**files: str) -> Report:
        (tmp_path / "pyproject.toml").write_text('[project]\nrequires-python = ">=3.15"\n')
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        return lint([str(tmp_path)])

    return run


def codes(report: Report) -> list[tuple[str, int]]:
    return [(each.code, each.primary.site.row) for each in report.findings]


READ = {
    "parameters": "def shard[M: torch.nn.Module](it: M) -> M:\n    fully_shard(it)\n",
    "an alias": "type M = torch.nn.Module\ndef shard(it: M) -> None:\n    fully_shard(it)\n",
    "quotes": "def shard(it):\n    print(f'{vars(it)['training']}')\n    fully_shard(it)\n",
    "exceptions": "def shard(it):\n    try:\n        fully_shard(it)\n    except ValueError, OSError:\n        raise\n",
    "a lazy import": "lazy import os\ndef shard(it):\n    fully_shard(it)\n",
}


@pytest.mark.parametrize("name", READ)
def test_what_means_the_same_is_analysed(name: str, check: Callable[..., Report]) -> None:
    text = f"{HEAD}{READ[name]}{LATE.format(call='shard(model)')}"
    report = check(train=text)
    row = text.splitlines().index("optimizer = torch.optim.AdamW(model.parameters())") + 1
    assert codes(report) == [("FSDP601", row)] and not report.failures and not report.notes


def test_a_comment_silences_in_such_a_file_too(check: Callable[..., Report]) -> None:
    text = f"{HEAD}{READ['quotes']}{LATE.format(call='shard(model)')}"
    silent = text.replace("parameters())", "parameters())  # noqa: FSDP601")
    report = check(train=silent)
    assert codes(report) == [] and [each.code for each in report.silenced] == ["FSDP601"]


TEMPLATE = f"{HEAD}def shard(it):\n    log(t'{{it}}')\n    fully_shard(it)\n"


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python knows t-strings")
def test_the_rest_is_code_that_is_not_seen(
    check: Callable[..., Report], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    late = LATE.format(call="shard(model)\nfully_shard(model)")
    report = check(util=TEMPLATE, other=TEMPLATE, train=f"{HEAD}from util import shard\n{late}")
    assert not report.failures and "FSDP000" not in [code for code, _ in codes(report)]
    (said,) = report.notes
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert "other.py:4, " in said and "util.py:4: syntax of Python 3.14, and fsdp2-lint runs on " + running in said
    assert said.endswith("install it under 3.14 or newer (the project's pyproject.toml says >=3.15)")
    (tmp_path / ".python-version").write_text("3.15.1\n")
    (tmp_path / "train.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    assert invoke(["check"]) == 0, "it is no fault of the user"
    err = capfd.readouterr().err
    assert err.count("warning:") == 1 and "(the project's .python-version says 3.15.1)" in err


def test_a_file_that_no_python_parses_is_a_finding(check: Callable[..., Report]) -> None:
    report = check(train=f"{HEAD}def f[](x): pass\n", good=f"{HEAD}{LATE.format(call='fully_shard(model)')}")
    assert codes(report) == [("FSDP601", 4), ("FSDP000", 3)]
