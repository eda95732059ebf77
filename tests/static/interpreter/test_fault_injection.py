"""A feature that the interpreter lacks costs verdicts and never makes a false alarm.

One method of the interpreter, or one entry of the table of torch's functions, is taken away at
a time. Correct programs must stay without a finding: what is not understood is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from fsdp2_lint.lint import lint
from fsdp2_lint.static.interpreter.interpreter import Interpreter
from fsdp2_lint.static.libraries.tables import EXTERNALS, METHODS
from tests.copies import copied

ROOT = Path(__file__).parents[3]
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


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("good")
    return [copied(program, folder / program.stem) for program in GOOD]


@pytest.fixture(scope="module")
def parts(good: list[Path]) -> dict[str, list[Path]]:
    """The programs in which a feature has a part. What is never called cannot be missed: the others stay the same."""
    called: dict[str, list[Path]] = {}
    for program in good:
        seen: set[str] = set()
        with pytest.MonkeyPatch.context() as patch:
            for name in FEATURES:
                patch.setattr(owner(name), name, noting(getattr(Interpreter, name), seen, name))
            for name, (table, entries) in HANDLERS.items():
                for each in entries:
                    patch.setitem(table, each, noting(table[each], seen, name))  # type: ignore[arg-type]
            assert findings([program]) == []
        for name in seen:
            called.setdefault(name, []).append(program)
    return called


def noting(function: Callable[..., Any], seen: set[str], name: str) -> Callable[..., Any]:
    @wraps(function)
    def noted(*args: Any, **keywords: Any) -> Any:
        seen.add(name)
        return function(*args, **keywords)

    return noted


def owner(name: str) -> type:
    return next(cls for cls in Interpreter.__mro__ if name in vars(cls))


def findings(programs: list[Path]) -> list[str]:
    found = []
    for program in programs:
        report = lint([str(program)])
        assert not report.failures
        found += [f"{program.name}: {finding.code}" for finding in report.findings]
    return found


def test_the_programs_are_clean_with_everything_in_place(good: list[Path]) -> None:
    assert findings(good) == []


def test_most_features_have_a_part(parts: dict[str, list[Path]]) -> None:
    """Or else the tests below would take away what nobody asks for."""
    assert len(set(FEATURES) & set(parts)) > len(FEATURES) / 2
    assert len(set(HANDLERS) & set(parts)) > len(HANDLERS) / 3


@pytest.mark.quick(14)
@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_is_missing(name: str, parts: dict[str, list[Path]], monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter's own way with a node of a kind that it does not know."""
    monkeypatch.delattr(owner(name), name)
    assert findings(parts.get(name, [])) == []


@pytest.mark.quick(8)
@pytest.mark.parametrize("name", HANDLERS)
def test_a_function_of_torch_is_missing(
    name: str, parts: dict[str, list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call of it is one of which nothing is known."""
    table, names = HANDLERS[name]
    for each in names:
        monkeypatch.setitem(table, each, opaque())  # type: ignore[arg-type]
    assert findings(parts.get(name, [])) == []


def opaque() -> Callable[..., Any]:
    def not_known(machine: Any, *handed: Any) -> Any:
        *receiver, call = handed
        return machine.libraries.not_known(call.name, call, *receiver)

    return not_known
