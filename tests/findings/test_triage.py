"""Which findings are shown, and where the others go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.catalogue import registry
from fsdp2_lint.catalogue.registry import Selection
from fsdp2_lint.files.source import Sources
from fsdp2_lint.findings.baseline import Baseline, Entry
from fsdp2_lint.findings.suppress import Comments
from fsdp2_lint.findings.triage import Triaged, triage
from fsdp2_lint.settings import Settings
from fsdp2_lint.vocab.finding import Finding, Severity
from tests import fake

FILE = Path("/project/fsdp2-lint.toml")
PLAIN = Settings(file=FILE)
SILENT, LOUD = "/project/legacy/silent.py", "/project/train.py"
SOURCES = {SILENT: b"f()  # noqa: FSDP601\ng()\n", LOUD: b"f()\ng()\n"}


def found(path: str, code: str = "FSDP601", severity: Severity = Severity.ERROR, row: int = 1) -> Finding:
    made = fake.finding(fake.site(path, row), code=code, severity=severity)
    return replace(made, fingerprint=f"{code}:{path}:{row}")


def sort(
    findings: list[Finding],
    settings: Settings = PLAIN,
    *,
    select: tuple[str, ...] = ("FSDP",),
    ignore: tuple[str, ...] = (),
    known: tuple[Finding, ...] = (),
    comments: Comments | None = None,
) -> Triaged:
    entries = tuple(Entry.of(finding, FILE.parent) for finding in known)
    selection = Selection(select, ignore, settings.severity)

    def fail(part: str, defect: str) -> None:
        raise AssertionError(f"{part}: {defect}")

    return triage(findings, selection, settings, Baseline(FILE, entries), comments or Comments(Sources(SOURCES)), fail)


def test_each_finding_goes_to_one_list() -> None:
    silent, aside, listed, shown = found(SILENT), found(SILENT, row=2), found(LOUD), found(LOUD, row=2)
    settings = Settings(per_file_ignores=(("legacy/*", ("FSDP6",)),), file=FILE)
    told = sort([silent, aside, listed, shown], settings, known=(silent, aside, listed))
    assert (told.silenced, told.set_aside, told.known, told.findings) == ([silent], [aside], [listed], [shown])


def test_a_comment_that_is_needed_counts_as_used_whatever_else_hides_the_finding() -> None:
    everywhere = Settings(per_file_ignores=(("*", ("ALL",)),), file=FILE)
    for finding, settings, known in (
        (found(SILENT), everywhere, ()),
        (found(SILENT), PLAIN, (found(SILENT),)),
        (found(SILENT, severity=Severity.INFO), PLAIN, ()),
    ):
        comments = Comments(Sources(SOURCES))
        assert sort([finding], settings, known=known, comments=comments).findings == []
        assert [*comments.used.values()] == [{"FSDP601"}]


@pytest.mark.parametrize(
    ("severities", "given_one", "told"),
    [
        ((), Severity.WARNING, Severity.WARNING),
        ((("FSDP601", "error"),), Severity.WARNING, Severity.ERROR),
        ((("FSDP6", "error"), ("FSDP601", "warning")), Severity.INFO, Severity.WARNING),
        ((("FSDP601", "warning"), ("FSDP6", "error")), Severity.INFO, Severity.WARNING),
        ((("ALL", "warning"), ("FSDP7", "error")), Severity.ERROR, Severity.WARNING),
        ((("FSDP602", "warning"),), Severity.ERROR, Severity.ERROR),
    ],
)
def test_the_longest_prefix_says_the_severity(
    severities: tuple[tuple[str, str], ...], given_one: Severity, told: Severity
) -> None:
    (shown,) = sort([found(LOUD, severity=given_one)], Settings(severity=severities, file=FILE)).findings
    assert shown.severity is told


def test_a_severity_of_the_project_turns_advice_on_and_findings_into_advice() -> None:
    advice, fault = found(LOUD, "FSDP907", Severity.INFO), found(LOUD, "FSDP601")
    assert sort([advice, fault]).findings == [fault]
    settings = Settings(severity=(("FSDP907", "warning"), ("FSDP601", "info")), file=FILE)
    assert [each.code for each in sort([advice, fault], settings).findings] == ["FSDP907"]
    assert len(sort([advice, fault], settings, select=("ALL",)).findings) == 2


CODES = st.sampled_from(["FSDP601", "FSDP602", "FSDP701", "FSDP907"])
PREFIXES = st.lists(st.sampled_from(["ALL", "FSDP", "FSDP6", "FSDP60", "FSDP601", "FSDP9", "FSDP907"]), max_size=3)


@given(st.lists(CODES, unique=True), PREFIXES, PREFIXES, st.lists(CODES, unique=True))
def test_nothing_is_lost_and_nothing_is_told_twice(
    codes: list[str], select: list[str], ignore: list[str], known: list[str]
) -> None:
    findings = [found(LOUD, code) for code in codes]
    told = sort(findings, select=tuple(select), ignore=tuple(ignore), known=tuple(found(LOUD, code) for code in known))
    selected = [each for each in findings if chosen(each.code, select, ignore)]
    assert told.findings == [each for each in selected if each.code not in known]
    assert told.known == [each for each in selected if each.code in known]
    assert not told.silenced and not told.set_aside


def chosen(code: str, select: list[str], ignore: list[str]) -> bool:
    """In the words of the manual: the longer prefix wins, and of equal ones, ignoring."""

    def length(prefixes: list[str], of_all: int) -> int:
        fitting = [each for each in prefixes if each == "ALL" or code.startswith(each)]
        return max((of_all if each == "ALL" else len(each) for each in fitting), default=-1)

    return length(select, 0) > length(ignore, len("FSDP"))


@pytest.mark.parametrize("select", [("FSDP",), ("ALL",), ("FSDP", "ALL")])
def test_all_can_be_ignored(select: tuple[str, ...]) -> None:
    findings = [found(LOUD), found(LOUD, "FSDP000"), found(LOUD, "FSDP907", Severity.INFO)]
    assert sort(findings, select=select, ignore=("ALL",)).findings == []
    everywhere = Settings(per_file_ignores=(("*", ("ALL",)),), file=FILE)
    assert sort(findings, everywhere, select=select).findings == []
    assert sort(findings, select=(*select, "FSDP6"), ignore=("ALL",)).findings == findings[:1], "it is longer"


def test_codes_that_do_not_exist_are_refused() -> None:
    for bad in ({"select": ["FSDP699"]}, {"ignore": ["FSDP699"]}, {"severities": [("FSDP699", "error")]}):
        with pytest.raises(registry.UnknownCode, match="'FSDP699'; did you mean"):
            registry.select(registry.rules(), **bad)  # type: ignore[arg-type]
