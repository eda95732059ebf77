"""A defect costs one program: the rest is still printed, the exit code is 2, and one line says what is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from encodings.aliases import aliases
from pathlib import Path
from typing import Any

import pytest

from fsdp2_lint.cli import invoke
from fsdp2_lint.files import edits, notebooks, source
from fsdp2_lint.findings import suppress
from fsdp2_lint.output import concise
from fsdp2_lint.static import check, entries, following
from fsdp2_lint.static.checks.migration import imports
from fsdp2_lint.static.frontend import project
from fsdp2_lint.static.interpreter.interpreter import Interpreter

FSDP2 = "from torch.distributed.fsdp import fully_shard"
# One finding of the text, one of the program; both in each of two programs.
PROGRAM = f"""\
import torch
{FSDP2.replace("fsdp import", "_composable.fsdp import")}

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.AdamW(model.parameters())
fully_shard(model)
model(torch.ones(2)).sum().backward()
optimizer.step()
"""
CELLS = json.dumps({"cells": [{"cell_type": "code", "source": PROGRAM}]})
Said = tuple[int, str, str]


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    (tmp_path / "pyproject.toml").touch()
    for name in ("bad.py", "good.py"):
        (tmp_path / name).write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, output_format: str = "concise") -> Said:
        code = invoke(
            ["check", "--select", "FSDP601,FSDP901", "--no-cache", "--output-format", output_format, *arguments]
        )
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


def test_without_a_defect_all_is_said(said: Callable[..., Said]) -> None:
    code, out, err = said()
    assert code == 1 and out.count("bad.py") == out.count("good.py") > 1 and "internal error" not in err


def breaking(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, about: Callable[..., bool]) -> None:
    """From now on a function breaks down where its arguments say that it is about the bad program."""
    works = getattr(owner, name)

    def broken(*given: Any, **named: Any) -> Any:
        if about(*given):
            raise IndexError("tuple index out of range")
        return works(*given, **named)

    monkeypatch.setattr(owner, name, broken)


def of_bad(*given: Any) -> bool:
    return any("bad.py" in str(getattr(each, "path", None) or getattr(each, "name", None) or each) for each in given)


def about_bad(data: bytes) -> bool:
    return b"# bad" in data


def shows_bad(findings: Any, *rest: Any) -> bool:
    return any("bad.py" in each.primary.site.path for each in findings)


# Stage: where it breaks down, and what is lost of the bad program.
STAGES: dict[str, tuple[Any, str, Callable[..., bool], set[str]]] = {
    "parsing": (project, "parse", of_bad, {"FSDP601", "FSDP901"}),
    "rebuilding": (project, "rebuild", of_bad, {"FSDP601", "FSDP901"}),
    "planning": (entries, "definitions_in", of_bad, {"FSDP601"}),
    "reading imports": (imports, "_public_path", of_bad, {"FSDP901"}),
    "interpreting": (Interpreter, "run_module", lambda machine, module: of_bad(module), {"FSDP601"}),
    "judging": (following, "events_of", of_bad, {"FSDP601"}),
    "filtering": (following, "blur_filtered", of_bad, {"FSDP601"}),
    "rendering": (concise, "render", shows_bad, {"FSDP601", "FSDP901"}),
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_defect_costs_one_program(stage: str, said: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, about, lost = STAGES[stage]
    _, before, _ = said()
    breaking(monkeypatch, owner, name, about)
    code, out, err = said()
    kept = [line for line in before.splitlines() if "bad.py" not in line or not any(each in line for each in lost)]
    assert code == 2 and out.splitlines() == kept
    wrong = [line for line in err.splitlines() if "internal error" in line and "report it" not in line]
    assert wrong and all("bad.py" in line and "IndexError: tuple index" in line for line in wrong)


# Stages that are about the whole run: nothing that was found is lost.
WHOLE = {
    "seeing": (check, "Sight"),
    "what causes what": (check, "without_consequences"),
    "verdicts": (check, "of_models"),
    "verdicts of programs": (check, "of_programs"),
    "fingerprints": ("fsdp2_lint.lint", "with_fingerprints"),
    "comments": (suppress, "suppressions"),
    "surroundings": ("fsdp2_lint.lint", "around"),
}


@pytest.mark.parametrize("stage", WHOLE)
def test_a_defect_that_is_of_no_program_costs_no_finding(
    stage: str, said: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name = WHOLE[stage]
    _, before, _ = said()
    if isinstance(owner, str):
        owner = __import__(owner, fromlist=["_"])
    breaking(monkeypatch, owner, name, lambda *given: True)
    code, out, err = said()
    assert (code, sorted(out.splitlines())) == (2, sorted(before.splitlines()))
    assert "internal error" in err


def test_a_fix_that_breaks_costs_no_other(
    said: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bad.py").write_text(f"# bad\n{PROGRAM}")
    breaking(monkeypatch, edits.Text, "edited", lambda text, found: "# bad" in text.text)
    code, out, err = said("--fix")
    assert code == 2 and FSDP2 in (tmp_path / "good.py").read_text()
    assert FSDP2 not in (tmp_path / "bad.py").read_text()
    assert "internal error in the fix of FSDP901 at" in err and "bad.py" in err and "FSDP601" in out


def test_a_notebook_that_breaks_costs_no_other_file(said: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bad.py").unlink()
    Path("bad.ipynb").write_text(CELLS)
    breaking(monkeypatch, notebooks, "read", lambda data: True)
    code, out, err = said()
    assert code == 2 and out.count("good.py") > 1 and "bad.ipynb: internal error: IndexError" in err


def test_what_cannot_be_shown_with_its_lines_costs_no_other(
    said: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    breaking(monkeypatch, source.Sources, "at", lambda sources, site: of_bad(site))
    code, out, err = said(output_format="full")
    assert code == 2 and "good.py" in out and "bad.py" not in out
    assert err.count("internal error in showing") == 2


# Inputs that broke a whole run once.
HUGE = f"0x{'f' * 4000}"
INPUTS = {
    "a dict key": f"TABLE = {{}}\nTABLE[{HUGE}] = 1\n",
    "a registry": f"TABLE = {{}}\ndef add(x):\n    TABLE[{HUGE}] = x\nadd(1)\nprint(TABLE[1])\n",
    "a case": f"import sys\nmatch len(sys.argv):\n    case {HUGE}:\n        pass\n",
    "a text": f"print(f'{{{HUGE}}}', str({HUGE}), '%d' % {HUGE})\n",
    "an option": f"model.more = {HUGE}\nfully_shard(model, reshard_after_forward={HUGE})\n",
}


@pytest.mark.parametrize("name", INPUTS)
def test_a_number_of_thousands_of_digits(name: str, said: Callable[..., Said], tmp_path: Path) -> None:
    _, before, _ = said()
    (tmp_path / "bad.py").write_text(PROGRAM + INPUTS[name])
    code, out, err = said()
    assert "internal error" not in err and code == 1
    assert [line for line in out.splitlines() if "good.py" in line] == [
        line for line in before.splitlines() if "good.py" in line
    ]
    assert "FSDP601" in out.partition("good.py")[0]


@pytest.mark.quick(40)
@pytest.mark.parametrize("codec", sorted(set(aliases.values()) | {"idna", "punycode", "undefined", "rot13", "hex"}))
def test_a_file_of_any_encoding(codec: str, said: Callable[..., Said], tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(f"# coding: {codec}\n{PROGRAM}x = 'é'\n", encoding="utf-8")
    code, out, err = said("--fix", "--diff")
    assert "internal error" not in err and code in (1, 2)
    code, out, err = said()
    assert "internal error" not in err and out.count("good.py") > 1
    assert isinstance(source.decode(f"# coding: {codec}\n".encode()), str)


DEEP = "[" * 20_000 + "]" * 20_000
DEEPER = "[" * 1_000_000 + "]" * 1_000_000  # from Python 3.14 on, JSON may be as deep as the stack has room
FILES = {
    "a notebook": ("bad.ipynb", f'{{"cells": [], "fully_shard": {DEEPER}}}', 2, "nested too deeply"),
    "settings of another tool": ("pyproject.toml", f"[tool.other]\nfsdp2-lint = {DEEP}\n", 1, ""),
    "own settings": ("pyproject.toml", f"[tool.fsdp2-lint]\nselect = {DEEP}\n", 2, "nested too deeply"),
    "the own file of settings": ("fsdp2-lint.toml", f"select = {DEEP}\n", 2, "nested too deeply"),
    "a long entry point": ("fsdp2-lint.toml", f'entry-points = ["{"a" * 5000}.py"]\n', 2, "there is no file"),
    "a long source root": ("fsdp2-lint.toml", f'source-roots = ["{"a" * 5000}"]\n', 2, "there is no folder"),
    "a baseline of another kind": ("fsdp2-lint.toml", 'baseline = "a\\u0000b"\n', 2, "baseline"),
}


@pytest.mark.parametrize("name", FILES)
def test_what_is_nested_too_deeply_or_too_long(name: str, said: Callable[..., Said], tmp_path: Path) -> None:
    file, text, expected, reason = FILES[name]
    (tmp_path / file).write_text(text)
    code, out, err = said()
    assert code == expected and reason in err and "internal error" not in err
    assert out.count("good.py") > 1 or file.endswith(".toml"), "of settings all is said before anything is checked"


def test_a_deep_baseline_is_none(said: Callable[..., Said], tmp_path: Path) -> None:
    (tmp_path / "known.json").write_text(DEEP)
    code, _, err = said("--baseline", "known.json")
    assert code == 2 and "known.json: is not a baseline" in err


def test_nothing_reads_as_success_where_nothing_was_checked(said: Callable[..., Said]) -> None:
    code, out, err = said("nosuch.py", output_format="json")
    assert (code, out) == (2, "") and err == "error: nosuch.py: cannot be read: No such file or directory\n"
