"""The examples on a clause's page as tests, in both directions.

Under ``## Examples`` each ``### Bad:`` or ``### Good:`` is one program. A fenced ``python``
block is one file of it, ``train.py`` unless the line before names it: ```model.py`:``.
Comments mark what must be reported: ``# error: [FSDP601]`` on the primary line and, if it
helps the reader, ``# related: [FSDP601]`` on further lines of the story. A finding without a
mark is a difference, and so is a mark without its finding.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from fsdp2_lint.catalogue import registry
from fsdp2_lint.catalogue.examples import with_whole_programs
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.lint import lint
from fsdp2_lint.vocab.finding import Finding

_FILE_NAME = re.compile(r"`([\w./-]+\.py)`:")
_MARK = re.compile(r"\b(error|warning|info|related):\s*\[([A-Z0-9,\s]+)\]")
DEFAULT_FILE = "train.py"


@dataclass(slots=True)
class Program:
    """One example: its title, and its files by name."""

    good: bool
    title: str
    files: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    file: str
    row: int
    kind: str
    code: str

    def __str__(self) -> str:
        return f"{self.file}:{self.row}: {self.kind}: [{self.code}]"


@cache  # a dozen of tests are made from them
def programs(page: str) -> tuple[Program, ...]:
    """The programs of a page. What does not follow the format raises ValueError."""
    found: list[Program] = []
    in_examples = False
    fence: str | None = None
    name, body = DEFAULT_FILE, []
    for number, line in enumerate(with_whole_programs(page).splitlines(), start=1):
        if fence is not None:
            if line.rstrip() != "```":
                body.append(line)
                continue
            if in_examples and fence == "python":
                if not found:
                    raise ValueError(f"line {number}: code before the first `### Bad:` or `### Good:`")
                if name in found[-1].files:
                    raise ValueError(f"line {number}: {name} is there twice; name each file on a line of its own")
                found[-1].files[name] = "\n".join(body) + "\n"
            fence, name, body = None, DEFAULT_FILE, []
        elif line.startswith("```"):
            fence = line[3:].strip()
        elif line.startswith("## "):
            in_examples = line.strip() == "## Examples"
        elif in_examples and line.startswith("### "):
            kind, colon, title = line[4:].partition(":")
            if kind not in ("Bad", "Good") or not colon:
                raise ValueError(f"line {number}: {line!r} is neither `### Bad: …` nor `### Good: …`")
            found.append(Program(kind == "Good", title.strip()))
        elif line.strip():
            named = _FILE_NAME.fullmatch(line.strip())
            name = named[1] if named else DEFAULT_FILE
    if fence is not None:
        raise ValueError("a fenced block is not closed")
    return tuple(found)


def marks(files: Mapping[str, str]) -> set[Mark]:
    """The marks in the comments of all files of a program."""
    found: set[Mark] = set()
    for name, text in files.items():
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                for kind, codes in _MARK.findall(token.string):
                    found.update(Mark(name, token.start[0], kind, code.strip()) for code in codes.split(","))
    return found


def differences(expected: Iterable[Mark], findings: Iterable[Finding], root: Path) -> list[str]:
    """Where marks and findings disagree, in words; empty if they agree."""
    expected = set(expected)
    reported = {_mark(finding, finding.primary.site.path, finding.primary.site.row, root) for finding in findings}
    further = {
        Mark(_name(label.site.path, root), label.site.row, "related", finding.code)
        for finding in findings
        for label in finding.related
    }
    return [
        *(f"reported and not marked: {mark}" for mark in sorted(reported - expected)),
        *(f"marked and not reported: {mark}" for mark in sorted(expected - reported - further)),
    ]


def check_program(files: Mapping[str, str], folder: Path) -> list[str]:
    """Write a program into an empty folder, check it, and compare with its marks.

    Marks of clauses that only a job can judge are for tests/runtime/test_conformance.py.
    """
    (folder / "pyproject.toml").touch()  # the project ends here, whatever lies above
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return check_folder(folder, in_source(marks(files)), folder)


def in_source(found: Iterable[Mark]) -> set[Mark]:
    """The marks of clauses that the static analysis judges."""
    seen = {rule.code for rule in registry.rules() if "S" in rule.judged_by}
    return {mark for mark in found if mark.code in seen}


def check_folder(path: Path, expected: Iterable[Mark], root: Path) -> list[str]:
    """Check a file or folder as a user does, advice included, and compare with the marks."""
    report = lint([str(path)], Asked(select=["ALL"]))
    return [*_trouble(report), *differences(expected, report.findings, root.resolve())]


def _trouble(report: Report) -> list[str]:
    return [*(f"failure: {each}" for each in report.failures), *(f"note: {each}" for each in report.notes)]


def _mark(finding: Finding, path: str, row: int, root: Path) -> Mark:
    return Mark(_name(path, root), row, finding.severity.value, finding.code)


def _name(path: str, root: Path) -> str:
    return Path(path).relative_to(root).as_posix()
