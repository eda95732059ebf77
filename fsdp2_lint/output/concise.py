"""One line per finding, which editors and ``grep`` understand."""

from __future__ import annotations

from collections.abc import Sequence

from fsdp2_lint.output.terminal import Paint, clean
from fsdp2_lint.output.words import context
from fsdp2_lint.source import Sources, display_path
from fsdp2_lint.vocab.finding import Finding


def render(findings: Sequence[Finding], sources: Sources, *, color: bool = False) -> str:
    paint = Paint(color)
    return "".join(f"{_line(finding, paint)}\n" for finding in findings)


def _line(finding: Finding, paint: Paint) -> str:
    site = finding.primary.site
    place = f"{clean(display_path(site.path))}:{site.row}:{site.column}:"
    severity = finding.severity.value
    see = ", ".join(f"{clean(display_path(label.site.path))}:{label.site.row}" for label in finding.related)
    return (
        f"{paint(place, 'bold')} {paint(f'{finding.code} {severity}', severity)} {clean(finding.message)}"
        f" [{finding.name}]{f' (see {see})' if see else ''}{''.join(f' ({each})' for each in context(finding))}"
    )
