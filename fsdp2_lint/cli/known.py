"""The baseline, as the command line uses it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fsdp2_lint.baseline import DEFAULT, Baseline, as_text
from fsdp2_lint.cli.options import Options, refused
from fsdp2_lint.cli.streams import CLEAN, Failure, deliver, note
from fsdp2_lint.output import plural

if TYPE_CHECKING:
    from fsdp2_lint.lint import Asked, Report


def with_baseline(options: Options, given: str | None, *, update: bool) -> Asked:
    """What is asked, with the baseline that was named or set. One that is about to be written hides nothing."""
    file = _file(options, given)
    if file is None or update:
        return options.asked
    with refused():
        return replace(options.asked, baseline=Baseline.read(file))


def update(options: Options, report: Report, given: str | None) -> int:
    """Write all findings of this run, and so drop those that are gone."""
    if report.failures:
        raise Failure("the baseline is not written, since not everything could be checked")
    file = _file(options, given) or options.settings.path(DEFAULT)
    deliver(as_text(report.findings, file.parent), str(file))
    note(f"{file}: {plural(len(report.findings), 'finding')}")
    if options.settings.baseline is None and given is None:
        note(f'set `baseline = "{DEFAULT}"` in the settings, or pass --baseline {file.name}, to use it')
    return CLEAN


def _file(options: Options, given: str | None) -> Path | None:
    if given is not None:
        return Path(given)
    set_by_project = options.settings.baseline
    return options.settings.path(set_by_project) if set_by_project is not None else None
