"""The baseline, as the command line uses it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fsdp2_lint import syntax
from fsdp2_lint.baseline import DEFAULT, Baseline, Entry, as_text
from fsdp2_lint.cli.options import Options, refused
from fsdp2_lint.cli.streams import CLEAN, Failure, deliver, note
from fsdp2_lint.output import plural
from fsdp2_lint.settings.codes import UNUSED
from fsdp2_lint.source import display_path

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
    """Write the findings of this run in place of those that it would have found again.

    Entries of files and codes that it did not look at stay, and all of them where it could not judge everything. A file
    that is not Python hides more than one finding.
    """
    if report.failures or any(finding.code == syntax.CODE for finding in report.findings):
        raise Failure("the baseline is not written, since not everything could be checked")
    file = _file(options, given) or options.settings.path(DEFAULT)
    kept: list[Entry] = []
    if file.exists():
        with refused():
            judged, _ = options.asked.selection(options.settings)
            files = {*report.files} if report.all_judged else ()
            kept = Baseline.read(file).not_looked_at(files, {rule.code for rule in judged})
    written = [finding for finding in report.findings if finding.code != UNUSED]
    entries = {*kept, *(Entry.of(finding, file.parent) for finding in written)}
    deliver(as_text(entries), str(file))
    note(f"{display_path(str(file))}: {plural(len(entries), 'finding')}")
    if left := len(report.findings) - len(written):
        note(f"not written: {plural(left, 'finding')} about comments, which --fix removes")
    if options.settings.baseline is None and given is None:
        note(f'set `baseline = "{DEFAULT}"` in the settings, or pass --baseline {file.name}, to use it')
    return CLEAN


def _file(options: Options, given: str | None) -> Path | None:
    if given is not None:
        return Path(given)
    set_by_project = options.settings.baseline
    return options.settings.path(set_by_project) if set_by_project is not None else None
