"""The findings of a run, and the summary line below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fsdp2_lint.cli.streams import complain, deliver
from fsdp2_lint.errors import CostsOnly
from fsdp2_lint.findings.outcome import Unseen
from fsdp2_lint.output import EMPTY_IS_TEXT, TELL_UNSEEN, besides, count, looked_at, not_judged, plural, render

if TYPE_CHECKING:
    from fsdp2_lint.cli.options import Options
    from fsdp2_lint.findings.outcome import Report
    from fsdp2_lint.vocab.finding import Finding


def tell(options: Options, report: Report, output_format: str, most: int | None = None) -> None:
    """Print findings, and the summary on stderr."""
    if not report.files and report.failures:
        return  # nothing was checked: an empty list would read as success
    shown = report.findings[:most]
    says_rest = output_format in TELL_UNSEEN and _unseen(report)
    if shown or output_format in EMPTY_IS_TEXT or says_rest or options.output_file is not None:
        deliver(_rendered(options, report, output_format, shown), options.output_file)
    if len(shown) < len(report.findings):
        options.say(f"{len(report.findings) - len(shown)} more are not shown (--max-findings {most})")
    conclude(options, report)


def conclude(options: Options, report: Report) -> None:
    """The summary; with --quiet only that nothing was judged, if that is so."""
    why = not_judged(report.selected, report.skipped)
    if why and options.quiet:
        options.say_unjudged(why)
    else:
        options.say(summary(report))


def _unseen(report: Report) -> Unseen:
    """Also that nothing was judged at all, which stderr has in the summary: a reader of stdout takes it for success."""
    why = not_judged(report.selected, report.skipped)
    return Unseen(report.failures, [*report.notes, why] if why else report.notes)


def _rendered(options: Options, report: Report, output_format: str, shown: Sequence[Finding]) -> str:
    """Those that a defect keeps from being shown are named on stderr in place of it, and the others are shown."""

    def rendered(findings: Sequence[Finding]) -> str:
        return render(
            output_format,
            findings,
            report.sources,
            color=options.colored,
            unseen=_unseen(report),
            width=options.width,
            left_out=report.findings[len(shown) :],
        )

    def broke(part: str, defect: str) -> None:
        report.broke(part, defect)
        complain(report.failures[-1])

    with CostsOnly("the output", lambda part, defect: None):
        return rendered(shown)
    told = []
    for finding in shown:
        site = finding.primary.site
        with CostsOnly(f"showing {finding.code} at {site.path}:{site.row}", broke):
            rendered([finding])
            told.append(finding)
    return rendered(told)


def summary(report: Report) -> str:
    """The last line of a check: what was found, what was looked at, and what of it was not seen to the end."""
    files = plural(len(report.files), "file")
    said = f"Found {count(report.findings)} in {files}."
    if not report.findings:
        said = f"No findings in {looked_at(len(report.files), report.candidates, linked=report.linked)}."
    if report.failures and not report.findings:
        said = f"Nothing was found in {files} before something went wrong."
    if why := not_judged(report.selected, report.skipped):
        said = f"{said} {why}" if report.findings or report.failures else why
    said += "".join(f" {sentence}" for sentence in besides(report))
    if report.cut:
        said += f" Not followed to the end: {report.cut} of {plural(report.programs, 'program')} (see --budget)."
    if report.unseen:
        said += f" Incomplete: {report.unseen.counted()} above."
    if report.gone:
        said += f" {len(report.gone)} of the baseline are gone (--update-baseline drops them)."
    if report.left_out:
        said += f" Left out, unless named: {', '.join(report.left_out)}."
    safe, unsafe = (len(report.fixable(safe=safe)) for safe in (True, False))
    if safe:
        said += f" {safe} can be fixed by --fix{f', {unsafe} more with --unsafe-fixes' if unsafe else ''}."
    elif unsafe:
        said += f" {unsafe} can be fixed by --fix --unsafe-fixes."
    return said
