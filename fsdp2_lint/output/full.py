"""For people: the source of every place of the story, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsdp2_lint.files.source import Sources, place
from fsdp2_lint.output.snippet import Mark, snippet
from fsdp2_lint.output.terminal import Paint, clean, fitted
from fsdp2_lint.output.words import context
from fsdp2_lint.vocab.finding import Finding


def render(findings: Sequence[Finding], sources: Sources, *, color: bool = False, width: int | None = None) -> str:
    paint = Paint(color)
    return "".join("\n".join(_lines(finding, sources, paint, width)) + "\n\n" for finding in findings)


def _lines(finding: Finding, sources: Sources, paint: Paint, width: int | None) -> Iterator[str]:
    severity = finding.severity.value
    head = f"{finding.code} {severity} {finding.name}"
    first, *rest = fitted(clean(finding.message), width, len(head) + 2, 2)
    yield f"{paint(head, severity)}: {paint(first, 'bold')}"
    yield from (paint(line, "bold") for line in rest)
    gutter = max(len(str(site.row)) for site in finding.sites)
    by_file: dict[tuple[str, int], list[Mark]] = {}  # in a notebook, by cell
    for label in (finding.primary, *finding.related):
        mark = Mark(label, "^", severity) if label is finding.primary else Mark(label, "-", "blue")
        by_file.setdefault((label.site.path, label.site.cell), []).append(mark)
    for number, marks in enumerate(by_file.values()):
        arrow = paint(" " * gutter + (":::" if number else "-->"), "blue")
        site = marks[0].label.site
        yield f"{arrow} {clean(place(site))}"
        yield from snippet(marks, sources, gutter, paint, width)
    yield paint(" " * (gutter + 1) + "|", "blue")
    told = [("seen", words) for words in context(finding)]
    for name, words in (*told, ("help", finding.help), ("explain", f"fsdp2-lint explain {finding.code}")):
        before = f"{' ' * (gutter + 1)}= {name}: "
        first, *rest = fitted(clean(words), width, len(before), len(before))
        yield f"{paint(' ' * (gutter + 1) + '=', 'blue')} {paint(name, 'bold')}: {first}"
        yield from rest
