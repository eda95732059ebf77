"""Output formats: one small module each, with one function ``render`` from findings to text."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fsdp2_lint.files.source import Sources
from fsdp2_lint.findings.outcome import ALL_SEEN, Unseen
from fsdp2_lint.output.terminal import defused, defused_json

if TYPE_CHECKING:
    from fsdp2_lint.findings.outcome import Report
    from fsdp2_lint.vocab.finding import Finding

FORMATS = ("full", "concise", "json", "json-lines", "agent", "github", "gitlab", "sarif", "junit", "rdjson")
TELL_UNSEEN = frozenset({"agent", "github", "sarif", "junit"})
_JSON = frozenset({"json", "json-lines", "gitlab", "sarif", "rdjson"})
JSON_VERSION = 1  # of the JSON of `check`, `verify`, `contract` and `rules`: a key that goes or changes makes it 2
NOTHING_SELECTED = "Nothing was judged: no code is selected."
EMPTY_IS_TEXT = frozenset(
    {"json", "agent", "gitlab", "sarif", "junit", "rdjson"}
)  # these say something where nothing is found


def render(
    name: str,
    findings: Sequence[Finding],
    sources: Sources,
    *,
    color: bool = False,
    unseen: Unseen = ALL_SEEN,
    width: int | None = None,
    left_out: Sequence[Finding] = (),
) -> str:
    """The findings in the named format: text that ends with a newline, or nothing at all.

    ``unseen`` has a place in some formats; for the others stderr has to do. ``width`` is that of a terminal, to which
    the format for people fits its lines. ``left_out`` are findings that are not to be shown: agents are told.
    """
    module = importlib.import_module(f"fsdp2_lint.output.{name.replace('-', '_')}")
    more: dict[str, Any] = {"unseen": unseen} if name in TELL_UNSEEN else {"width": width} if name == "full" else {}
    if name == "agent":
        more["left_out"] = left_out
    text: str = module.render(findings, sources, color=color, **more)
    if name in _JSON:
        return defused_json(text)
    return text if name in ("github", "junit") else defused(text)


def plural(number: int, what: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number} {what}{'s' if number != 1 else ''}"


def looked_at(files: int, candidates: int, *, linked: bool) -> str:
    """The files that were checked, and how many of them speak of FSDP2, themselves or by what they are used with."""
    if linked and not candidates:
        return f"{plural(files, 'file')} of a program with FSDP2"
    return f"{plural(files, 'file')}, {candidates or 'none'} with FSDP2"


def not_judged(selected: bool, skipped: Sequence[str]) -> str:
    """Why nothing at all was judged, as a sentence; nothing if that is not so."""
    if skipped:
        patterns = " and ".join(f"`{each}`" for each in skipped)
        return f"No file was checked: {patterns} {'leaves' if len(skipped) == 1 else 'leave'} out every file."
    return "" if selected else NOTHING_SELECTED


def besides(report: Report) -> Iterator[str]:
    """What a run found besides the findings that it reports, a sentence each."""
    if report.elsewhere:
        yield f"{report.elsewhere} more in other files of the same programs (name them, or check the whole project)."
    for hidden, why in (
        (report.silenced, "silenced by comments"),
        (report.known, "in the baseline"),
        (report.set_aside, "left out by per-file-ignores"),
    ):
        if hidden:
            yield f"{len(hidden)} {why}."


def count(findings: Sequence[Finding]) -> str:
    """``2 errors, 1 warning``; the words of the summary line."""
    parts = []
    for severity in ("error", "warning", "info"):
        if number := sum(finding.severity.value == severity for finding in findings):
            parts.append(plural(number, severity) if severity != "info" else f"{number} info")
    return ", ".join(parts) or "no findings"
