"""``fsdp2-lint check``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fsdp2_lint.cli.job_output import job_report
from fsdp2_lint.cli.options import Options, analyse, shared
from fsdp2_lint.cli.streams import deliver, note
from fsdp2_lint.output import FORMATS, count, render

if TYPE_CHECKING:
    from fsdp2_lint.lint import Report


@click.command()
@shared
@click.option("--confirm", type=click.Path(file_okay=False), help="Compare with the report of a job (see `run`).")
@click.option("--output-format", type=click.Choice(FORMATS), default="full", show_default=True)
def check(output_format: str, confirm: str | None, **given: Any) -> int:
    """Check files and folders (default: this folder; - reads stdin).

    Nothing that is checked is imported or run. Exit codes: 0 nothing found, 1 findings, 2
    abnormal, such as a file that cannot be read.
    """
    options = Options(**given)
    report = analyse(options)
    if confirm is not None:
        from fsdp2_lint.report.confirm import confirm as compare

        job = job_report(confirm, options)
        report.findings = compare(report.findings, job)
    if report.findings or output_format == "json" or options.output_file is not None:
        text = render(output_format, report.findings, report.sources, color=options.colored)
        deliver(text, options.output_file)
    note(_summary(report))
    return options.exit_code(report, found=bool(report.findings))


def _summary(report: Report) -> str:
    files = f"{report.files} file{'s' if report.files != 1 else ''}"
    silenced = f" {len(report.silenced)} silenced by comments." if report.silenced else ""
    if report.findings:
        return f"Found {count(report.findings)} in {files}.{silenced}"
    return f"No findings in {files}, {report.candidates or 'none'} with FSDP2.{silenced}"
