"""Mending: what is applied is mended, nothing else breaks, and nothing is left to mend."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.files.source import Sources
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.fix import Fixed, fix_all
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.lint import lint
from fsdp2_lint.vocab.finding import Edit, Finding, Fix, Label, Severity, Site
from tests.pages.harness import programs

ROOT = Path(__file__).parents[2]
EXAMPLES = [each for each in sorted((ROOT / "examples").glob("*/*")) if each.suffix == ".py" or each.is_dir()]
PAGES = [
    pytest.param(rule.code, id=rule.code)
    for rule in registry.rules()
    if "S" in rule.judged_by and any(not program.good for program in programs(registry.page(rule)))
]
Check = Callable[[Mapping[str, bytes]], Report]


def counts(report: Report) -> Counter[str]:
    return Counter(finding.code for finding in report.findings)


def assert_mended(check: Check, *, unsafe: bool) -> Fixed:
    """The laws of mending, for one program."""
    before = check({})
    mended = fix_all(lambda overlay: check(overlay) if overlay else before, unsafe=unsafe)
    for path, data in mended.changed.items():
        ast.parse(data, path)
    left, gone = counts(mended.report), Counter(finding.code for finding in mended.applied)
    assert all(left[code] <= count - gone[code] for code, count in counts(before).items()), "what was applied is there"
    assert not left - counts(before), "a fault is new"
    assert not mended.report.failures
    assert unsafe or all(finding.fix is not None and finding.fix.safe for finding in mended.applied)
    if mended.changed:
        again = fix_all(
            lambda overlay: check({**mended.changed, **overlay}) if overlay else mended.report, unsafe=unsafe
        )
        assert not again.changed
    return mended


def of_folder(folder: Path) -> Check:
    return lambda overlay: lint([str(folder)], Asked(select=["ALL"]), overlay=overlay)


@pytest.mark.quick(30)
@pytest.mark.parametrize("code", PAGES)
def test_programs_of_pages(code: str, tmp_path: Path) -> None:
    for number, program in enumerate(programs(registry.page(registry.rule(code)))):
        if program.good:
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "pyproject.toml").touch()
        for name, text in program.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        if assert_mended(of_folder(folder), unsafe=True).changed:
            assert_mended(of_folder(folder), unsafe=False)


@pytest.mark.quick(1)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples(example: Path) -> None:
    mended = assert_mended(of_folder(example), unsafe=True)
    assert "good" not in example.parts or not mended.changed
    assert all(Path(path).read_bytes() != data for path, data in mended.changed.items()), "nothing is written"


PATH = "/a.py"


def found(fix: Fix | None, row: int = 1) -> Finding:
    return Finding("FSDP999", "a-fault", Severity.ERROR, "a fault", Label(Site(PATH, row), "here"), "mend it", fix=fix)


def inserted(text: str, row: int, column: int = 1, *, safe: bool = True, path: str = PATH, cell: int = 0) -> Finding:
    return found(Fix((Edit(Site(path, row, column, row, column, cell), text),), safe=safe), row)


def once(data: bytes, *findings: Finding, rounds: int = 1) -> Fixed:
    """Mend a file in which these are found so many times."""
    seen: list[Mapping[str, bytes]] = []

    def check(overlay: Mapping[str, bytes]) -> Report:
        seen.append(overlay)
        told = list(findings) if len(seen) <= rounds else []
        return Report(findings=told, files=[PATH], sources=Sources({PATH: data, **overlay}))

    return fix_all(check, unsafe=False)


def test_a_fix_that_spoils_its_file_costs_no_other() -> None:
    mended = once(b"a = 1\nb = 2\n", inserted("(", 1), inserted("c = 3\n", 2))
    assert mended.changed == {PATH: b"a = 1\nc = 3\nb = 2\n"} and len(mended.applied) == 1


def test_fixes_that_spoil_a_file_together_are_left() -> None:
    """Each is right alone: two lines for one name of a keyword."""
    first, second = (inserted(text, 1, 3) for text in ("b=1, ", "*, "))
    assert once(b"f(c=1)\n", first).changed and not once(b"f(c=1)\n", second).changed
    assert once(b"f(c=1)\n", first, second).changed == {PATH: b"f(b=1, c=1)\n"}


def test_what_an_encoding_cannot_say_is_left() -> None:
    data = "# coding: latin-1\nä = 1\n".encode("latin-1")
    mended = once(data, inserted("# 𝄞\n", 2), inserted("ö = 2\n", 3))
    assert mended.changed == {PATH: "# coding: latin-1\nä = 1\nö = 2\n".encode("latin-1")}


@pytest.mark.parametrize(
    "finding",
    [inserted("b = 1\n", 1, safe=False), inserted("b = 1\n", 1, path="/b.py"), inserted("b = 1\n", 1, cell=2)],
    ids=["unsafe", "of a file that was not asked for", "in a notebook"],
)
def test_what_stays_as_it_is(finding: Finding) -> None:
    assert not once(b"a = 1\n", finding).changed


def test_it_ends_although_a_fault_stays() -> None:
    mended = once(b"", inserted("a\n", 1), rounds=1000)
    assert len(mended.applied) == 10 and mended.changed == {PATH: b"a\n" * 10}
