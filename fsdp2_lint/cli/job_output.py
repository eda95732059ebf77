"""Options and output of the commands that are about a job: ``run`` and ``report``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fsdp2_lint.catalogue.codes import selected, split
from fsdp2_lint.cli.options import Options, of_codes, refused
from fsdp2_lint.cli.streams import ABNORMAL, CLEAN, FOUND, Failure, columns, complain, deliver, note, sum_up, use_color
from fsdp2_lint.output import EMPTY_IS_TEXT, FORMATS, NOTHING_SELECTED, count, plural, render

if TYPE_CHECKING:
    from fsdp2_lint.report.outcome import JobReport

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    of_codes("--select", "Check only these codes or prefixes."),
    of_codes("--ignore", "Leave out these codes or prefixes."),
    click.option("--output-format", type=click.Choice(FORMATS), default="full", show_default=True),
    click.option("-o", "--output-file", type=click.Path(dir_okay=False), help="Write the findings there."),
    click.option("--exit-zero", is_flag=True, help="Exit with 0 also with findings, or an incomplete report."),
    click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto"),
)


def job_options(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class JobOptions:
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    severities: tuple[tuple[str, str], ...]
    output_format: str
    output_file: str | None
    exit_zero: bool
    color: str

    @classmethod
    def of(cls, given: dict[str, Any]) -> JobOptions:
        """Takes its own options out of ``given``. A code that does not exist is a failure, and so is a bad setting."""
        from fsdp2_lint.findings.asked import Asked
        from fsdp2_lint.settings import settings

        asked = Asked(select=selected(given.pop("select")), ignore=split(given.pop("ignore")))
        with refused():
            _, selection = asked.selection(settings(os.getcwd()))
        rest = {name: given.pop(name) for name in ("output_format", "output_file", "exit_zero", "color")}
        return cls(selection.select, selection.ignore, selection.severities, **rest)


def _unread(error: OSError) -> str:
    """Some of these errors are ours, and say it themselves."""
    return f"{error.filename}: cannot be read: {error.strerror}" if error.strerror else str(error)


def read_report(folder: Path) -> JobReport:
    """What the ranks of a job reported. A folder without reports is a failure."""
    from fsdp2_lint.catalogue import registry
    from fsdp2_lint.report.job import read_job

    try:
        return read_job(folder, registry.rules())
    except OSError as error:
        raise Failure(_unread(error)) from None


def read_chosen(folder: Path) -> JobReport:
    """The report of the job in a folder, or of the newest below it; it is said which, and that there are others."""
    from fsdp2_lint.report.folders import choose

    try:
        chosen = choose(folder)
    except OSError as error:
        raise Failure(_unread(error)) from None
    report = read_report(chosen.folder)
    if others := len(chosen.others):
        words = f"{plural(others, 'other job')} in {folder}: name one to see it, such as {folder / chosen.others[0]}"
        note(f"This is the newest job, {chosen.folder.name}. There {'is' if others == 1 else 'are'} {words}")
    if report.earlier:
        note(f"{plural(report.earlier, 'file')} of earlier runs of the same name left out")
    return report


def job_report(folder: str, options: Options) -> JobReport:
    """The report of a job for a comparison with the source, with the same selection."""
    _, selection = options.asked.selection(options.settings)
    report = read_chosen(Path(folder))
    if report.origin.words:
        note(f"The report is of {report.origin.words}.")
    for text in report.notes:
        complain(text, "warning")
    report.findings = [finding for finding in report.findings if selection.shows(finding)]
    return report


def present(report: JobReport, options: JobOptions) -> int:
    """Print what the ranks reported; the exit code that follows from it."""
    return present_all([report], options)


def worst(codes: Iterable[int]) -> int:
    """Findings count more than anything that kept others from being found."""
    return max(codes, key=lambda code: (code == FOUND, code))


def present_all(reports: Sequence[JobReport], options: JobOptions) -> int:
    """The same of one job at several sizes: what is found at more than one of them is shown once."""
    from fsdp2_lint.catalogue import registry
    from fsdp2_lint.report.view import view

    rules, selection = registry.select(registry.rules(), options.select, options.ignore, options.severities)
    shown = [view(report, selection) for report in reports]
    findings = list({found.key: found for each in shown for found in each.findings}.values())
    color = options.color == "always" if options.output_file else use_color(options.color, sys.stdout)
    if findings or options.output_format in EMPTY_IS_TEXT or options.output_file is not None:
        width = None if options.output_file else columns(sys.stdout)
        told = render(options.output_format, findings, shown[0].sources, color=color, width=width)
        deliver(told, options.output_file)
    for text in dict.fromkeys(text for report in reports for text in report.notes):
        complain(text, "warning")
    for each in shown:
        for crash in each.report.crashes:
            note(each.crash(crash))
        sum_up(each.summary(count(each.findings)) if rules else NOTHING_SELECTED)
        each.report.findings = each.findings
    code = worst(report.exit_code for report in reports)
    return CLEAN if options.exit_zero and code in (FOUND, ABNORMAL) else code
