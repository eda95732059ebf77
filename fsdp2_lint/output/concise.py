"""One line per finding, which editors and ``grep`` understand."""

from __future__ import annotations

from collections.abc import Sequence

from fsdp2_lint.files.source import Sources, line_of, place
from fsdp2_lint.output.terminal import Paint, clean
from fsdp2_lint.output.words import context
from fsdp2_lint.vocab.finding import Finding


def render(findings: Sequence[Finding], sources: Sources, *, color: bool = False) -> str:
    paint = Paint(color)
    return "".join(f"{_line(finding, paint)}\n" for finding in findings)


def _line(finding: Finding, paint: Paint) -> str:
    at = f"{clean(place(finding.primary.site))}:"
    severity = finding.severity.value
    see = ", ".join(clean(line_of(label.site)) for label in finding.related)
    return (
        f"{paint(at, 'bold')} {paint(f'{finding.code} {severity}', severity)} {clean(finding.message)}"
        f" [{finding.name}]{f' (see {see})' if see else ''}{''.join(f' ({each})' for each in context(finding))}"
    )
