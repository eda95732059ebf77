"""A feature that the interpreter lacks costs verdicts and never makes a false alarm.

One method of the interpreter, or one entry of the table of torch's functions, is taken away at
a time. Correct programs must stay without a finding: what is not understood is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fsdp2_lint.lint import lint
from fsdp2_lint.static.interp.interpreter import Interpreter
from fsdp2_lint.static.torch_model.tables import EXTERNALS, METHODS

ROOT = Path(__file__).parents[2]
SHAPES = ("modules_filter", "strategy_registry", "trainer_class", "helper_kwargs", "hf_lora")
GOOD = [
    ROOT / "examples/good/reference.py",
    ROOT / "examples/good/project",
    *(ROOT / "tests/projects" / shape for shape in SHAPES),
]
# Left out: the frame of it all, and the table's own effects, of which no trace would be left.
FEATURES = sorted(name for name in dir(Interpreter) if name.startswith(("eval_", "exec_")) and name != "exec_block")
HANDLERS = {
    f"{kind}:{function.__name__}": (table, [name for name, value in table.items() if value is function])
    for kind, table in (("external", EXTERNALS), ("method", METHODS))
    for function in dict.fromkeys(table.values())
}


@cache
def text_of(program: Path) -> str:
    files = [program] if program.is_file() else sorted(program.rglob("*.py"))
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def findings(programs: list[Path]) -> list[str]:
    found = []
    for program in programs:
        report = lint([str(program)])
        assert not report.failures
        found += [f"{program.name}: {finding.code}" for finding in report.findings]
    return found


def test_the_programs_are_clean_with_everything_in_place() -> None:
    assert findings(GOOD) == []


@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_is_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter's own way with a node of a kind that it does not know."""
    owner = next(cls for cls in Interpreter.__mro__ if name in vars(cls))
    monkeypatch.delattr(owner, name)
    assert findings(GOOD) == []


@pytest.mark.parametrize("name", HANDLERS)
def test_a_function_of_torch_is_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call of it is one of which nothing is known."""
    table, names = HANDLERS[name]
    for each in names:
        monkeypatch.setitem(table, each, opaque())  # type: ignore[arg-type]
    words = {each.rpartition(".")[2] for each in names}
    assert findings([program for program in GOOD if any(word in text_of(program) for word in words)]) == []


def opaque() -> Callable[..., Any]:
    def not_known(machine: Interpreter, *handed: Any) -> Any:
        *receiver, call = handed
        return machine.not_known(machine.called_name, call, *receiver)

    return not_known
