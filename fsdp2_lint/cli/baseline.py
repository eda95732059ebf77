"""The baseline, as the command line uses it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fsdp2_lint.catalogue.codes import UNUSED
from fsdp2_lint.cli.options import Options, refused
from fsdp2_lint.cli.streams import CLEAN, Failure
from fsdp2_lint.files import syntax
from fsdp2_lint.files.source import display_path
from fsdp2_lint.findings.baseline import DEFAULT, WRITES, Baseline, Entry, as_text, what_writes
from fsdp2_lint.output import NOTHING_SELECTED, plural

if TYPE_CHECKING:
    from fsdp2_lint.findings.asked import Asked
    from fsdp2_lint.findings.outcome import Report


def with_baseline(options: Options, given: str | None, *, update: bool) -> Asked:
    """What is asked, with the baseline that was named or set. One that is about to be written hides nothing."""
    if update and options.stdin is not None:
        raise click.UsageError("--update-baseline is about files, and stdin is not a file")
    file = _file(options, given) or (options.settings.path(DEFAULT) if update else None)
    if file is None:
        return options.asked
    writes = WRITES if given is not None else what_writes(file, options.settings, options.named)
    if update and writes != WRITES:
        raise Failure(f"{display_path(str(file))}: lies outside of the project; {writes} writes it all the same")
    if update and not file.exists():
        return options.asked
    with refused():
        return replace(options.asked, baseline=Baseline.read(file, writes), hides=not update)


def update(options: Options, asked: Asked, report: Report, given: str | None) -> int:
    """Write the findings of this run in place of those that are gone.

    Entries of what it did not look at stay, and all of them where it could not judge everything; the warnings say why.
    A file that is not Python hides more than one finding.
    """
    from fsdp2_lint.files.writing import Change, write

    if not report.selected:
        raise Failure(f"the baseline is not written: {NOTHING_SELECTED}")
    if report.failures or any(finding.code == syntax.CODE for finding in report.findings):
        raise Failure("the baseline is not written, since not everything could be checked")
    held = asked.baseline or Baseline(_file(options, given) or options.settings.path(DEFAULT))
    met = {each.fingerprint for each in (*report.findings, *report.silenced, *report.set_aside)}
    kept = [each for each in held.entries if each not in report.gone and each.fingerprint not in met]
    written = [finding for finding in report.findings if finding.code != UNUSED]
    entries = {*kept, *(Entry.of(finding, held.file.parent) for finding in written)}
    with refused():
        write([Change(os.path.realpath(held.file), held.data, as_text(entries).encode(errors="backslashreplace"))])
    options.say(f"{display_path(str(held.file))}: {plural(len(entries), 'finding')}")
    if left := len(report.findings) - len(written):
        options.say(f"not written: {plural(left, 'finding')} about comments, which --fix removes")
    if options.settings.baseline is None and given is None:
        options.say(f'set `baseline = "{DEFAULT}"` in the settings, or pass --baseline {held.file.name}, to use it')
    return CLEAN


def _file(options: Options, given: str | None) -> Path | None:
    if given is not None:
        return Path(given)
    set_by_project = options.settings.baseline
    return options.settings.path(set_by_project) if set_by_project is not None else None
