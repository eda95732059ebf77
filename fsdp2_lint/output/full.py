"""For people: the source of every place of the story, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsdp2_lint.files.source import Sources, place
from fsdp2_lint.output.snippet import Mark, snippet
from fsdp2_lint.output.terminal import Paint, clean
from fsdp2_lint.output.words import context
from fsdp2_lint.vocab.finding import Finding


def render(findings: Sequence[Finding], sources: Sources, *, color: bool = False) -> str:
    paint = Paint(color)
    return "".join("\n".join(_lines(finding, sources, paint)) + "\n\n" for finding in findings)


def _lines(finding: Finding, sources: Sources, paint: Paint) -> Iterator[str]:
    severity = finding.severity.value
    head = f"{finding.code} {severity} {finding.name}"
    yield f"{paint(head, severity)}: {paint(clean(finding.message), 'bold')}"
    gutter = max(len(str(site.row)) for site in finding.sites)
    by_file: dict[tuple[str, int], list[Mark]] = {}  # in a notebook, by cell
    for label in (finding.primary, *finding.related):
        mark = Mark(label, "^", severity) if label is finding.primary else Mark(label, "-", "blue")
        by_file.setdefault((label.site.path, label.site.cell), []).append(mark)
    for number, marks in enumerate(by_file.values()):
        arrow = paint(" " * gutter + (":::" if number else "-->"), "blue")
        site = marks[0].label.site
        yield f"{arrow} {clean(place(site))}"
        yield from snippet(marks, sources, gutter, paint)
    yield paint(" " * (gutter + 1) + "|", "blue")
    equals = paint(" " * (gutter + 1) + "=", "blue")
    for words in context(finding):
        yield f"{equals} {paint('seen', 'bold')}: {clean(words)}"
    yield f"{equals} {paint('help', 'bold')}: {clean(finding.help)}"
    yield f"{equals} {paint('explain', 'bold')}: fsdp2-lint explain {finding.code}"
