"""Workflow commands of GitHub Actions: annotations in a pull request.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions. GitHub shows the first ten of each
severity per step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsdp2_lint.files.source import Sources
from fsdp2_lint.findings.outcome import ALL_SEEN, Unseen
from fsdp2_lint.output.terminal import printable
from fsdp2_lint.output.words import story
from fsdp2_lint.vocab.finding import Finding, Severity, Site

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _DATA | str.maketrans({":": "%3A", ",": "%2C"})


def render(findings: Sequence[Finding], sources: Sources, *, color: bool = False, unseen: Unseen = ALL_SEEN) -> str:
    rest = [f"::{kind} title=fsdp2-lint::{_escaped(line, _DATA)}" for kind, line in unseen]
    return "".join(f"{line}\n" for line in [*(_command(finding, sources) for finding in findings), *rest])


def _command(finding: Finding, sources: Sources) -> str:
    properties = [("title", f"fsdp2-lint ({finding.code})"), *_place(finding.primary.site, sources)]
    listed = ",".join(f"{key}={_escaped(value, _PROPERTY)}" for key, value in properties)
    return f"::{_COMMANDS[finding.severity]} {listed}::{_escaped(story(finding), _DATA)}"


def _escaped(text: str, table: dict[int, str]) -> str:
    return "".join(map(printable, text.translate(table)))


def _place(site: Site, sources: Sources) -> Iterator[tuple[str, str]]:
    # The runner makes an absolute path relative to the checkout; a relative one it takes as it is, wherever we stand.
    yield "file", site.path
    if site.cell:  # rows of a cell are no rows of the file, and its columns no columns of it
        yield "line", str(sources.row_in_file(site))
        return
    yield "line", str(site.row)
    if site.end_row == site.row and site.end_column >= site.column:
        yield "col", str(site.column)
        yield "endLine", str(site.end_row)
        yield "endColumn", str(site.end_column)
    elif site.end_row > site.row:  # the runner drops columns of what spans several lines
        yield "endLine", str(site.end_row)
    else:
        yield "col", str(site.column)
