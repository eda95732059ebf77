"""For coding agents: one bounded line per finding with all that is needed to mend it, and a last line that counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsdp2_lint.files.source import Sources, line_of, place
from fsdp2_lint.findings.outcome import ALL_SEEN, Unseen
from fsdp2_lint.output import count, plural
from fsdp2_lint.output.terminal import clean
from fsdp2_lint.output.words import context
from fsdp2_lint.vocab.finding import Finding

LONGEST = 600
MOST_RELATED = 4
_LONGEST_PART = 200
_CUT = "…"


def render(
    findings: Sequence[Finding],
    sources: Sources,
    *,
    color: bool = False,
    unseen: Unseen = ALL_SEEN,
    left_out: Sequence[Finding] = (),
) -> str:
    """``left_out`` are the findings that were not to be shown; they count."""
    found = [*findings, *left_out]
    summary = plural(len(found), "finding") + (f" ({count(found)})" if found else "")
    summary += f"; {len(left_out)} of them not shown" if left_out else ""
    rest = [f"{'not checked' if kind == 'error' else kind}: {_short(clean(line))}" for kind, line in unseen]
    summary += f"; incomplete: {unseen.counted()}" if unseen else ""
    return "".join(f"{line}\n" for line in [*map(_line, findings), *rest, summary])


def _line(finding: Finding) -> str:
    at = f"{place(finding.primary.site)}: {finding.severity.value} {finding.code} {finding.name}"
    first = f"{clean(at)}: {_short(clean(finding.message))}"
    seen = [f"seen: {clean(words)}" for words in context(finding)]
    last = f"fix: {_short(clean(finding.help))}{_applied(finding)} | explain: fsdp2-lint explain {clean(finding.code)}"
    for number in range(min(len(finding.related), MOST_RELATED), -1, -1):
        line = " | ".join([first, *_related(finding, number), *seen, last])
        if len(line) <= LONGEST:
            return line
    return f"{_short(' | '.join([first, *seen]), LONGEST - len(last) - 3)} | {last}"


def _related(finding: Finding, number: int) -> Iterator[str]:
    """The first places of the story, as many as asked for, and how many are left out."""
    told = [clean(f"{line_of(label.site)} {label.message}") for label in finding.related[:number]]
    if len(finding.related) > number:
        told.append(f"{len(finding.related) - number} more")
    if told:
        yield f"related {'; '.join(told)}"


def _applied(finding: Finding) -> str:
    if finding.fix is None:
        return ""
    return " (safe fix: --fix)" if finding.fix.safe else " (unsafe fix: --fix --unsafe-fixes)"


def _short(text: str, longest: int = _LONGEST_PART) -> str:
    return text if len(text) <= longest else text[: longest - 1].rstrip() + _CUT
