"""What ``check`` writes into files: fixes, and comments that silence findings."""

from __future__ import annotations

import difflib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsdp2_lint.cli.options import Options, analyse, refused, say_problems
from fsdp2_lint.cli.reporting import conclude, tell
from fsdp2_lint.cli.streams import ABNORMAL, CLEAN, FOUND, Failure, deliver, note
from fsdp2_lint.files.source import decode, display_path, place
from fsdp2_lint.output import plural
from fsdp2_lint.output.terminal import one_line

if TYPE_CHECKING:
    from fsdp2_lint.findings.asked import Asked
    from fsdp2_lint.findings.outcome import Report


@dataclass(frozen=True, slots=True)
class Shown:
    """How findings are shown that are left, and how many of them."""

    output_format: str
    most: int | None = None


def fix(options: Options, asked: Asked, shown: Shown, *, write: bool, unsafe: bool, fixing_counts: bool = False) -> int:
    """Fix findings in their files, or show the difference. What is read from stdin is printed as fixed.

    ``fixing_counts``: that something was fixed is reason enough for the exit code of findings.
    """
    from fsdp2_lint.findings.fix import fix_all

    result = fix_all(lambda overlay: analyse(options, asked, overlay), unsafe=unsafe)
    say_problems(result.report)
    _say_beyond(result.report)
    fixed = f"{plural(len(result.applied), 'finding')} in {plural(len(result.changed), 'file')}"
    if not write:
        deliver(difference(result.changed, result.originals), options.output_file)
        more = len(result.report.fixable(safe=False)) if not unsafe else 0
        options.say(f"Would have fixed {fixed}{f' ({more} more with --unsafe-fixes)' if more else ''}.")
        return ABNORMAL if result.report.failures else FOUND if result.changed and not options.exit_zero else CLEAN
    if options.stdin is not None:
        path, data = options.stdin
        deliver(result.changed.pop(path, data), None)
        _write(result.changed, result.originals)
        conclude(options, result.report)
    else:
        try:
            _write(result.changed, result.originals)
        except Failure as failure:
            failure.show()
            tell(options, result.before, shown.output_format, shown.most)
            return ABNORMAL
        if result.applied:
            options.say(f"Fixed {fixed}.")
        tell(options, result.report, shown.output_format, shown.most)
    found = bool(result.report.findings) or (fixing_counts and bool(result.applied))
    return options.exit_code(result.report, found=found)


def _say_beyond(report: Report) -> None:
    """Of files that stay although their findings could be result."""
    wanted = {edit.site.path for each in report.findings if each.fix is not None for edit in each.fix.edits}
    for path in sorted(wanted.intersection(report.beyond)):
        note(f"{display_path(path)}: is left as it is: it was reached by a link, and lies out of what was given")


def add_ignore(options: Options, report: Report, reason: str) -> int:
    from fsdp2_lint.findings.add_ignore import with_ignores

    ignored = with_ignores(report.findings, report.sources, report.own, reason)
    _write(ignored.changed, {path: report.sources.data(path) for path in ignored.changed})
    options.say(f"Silenced {plural(len(ignored.silenced), 'finding')} in {plural(len(ignored.changed), 'file')}.")
    for finding in ignored.left:
        note(f"{place(finding.primary.site)}: {finding.code} is left: no comment could be written for it")
    return options.exit_code(report, found=bool(ignored.left))


def difference(changed: Mapping[str, bytes], before: Mapping[str, bytes]) -> str:
    """A unified diff."""
    lines: list[str] = []
    for path in sorted(changed):
        old, new = _lines(before[path]), _lines(changed[path])
        name = one_line(display_path(path))
        for line in difflib.unified_diff(old, new, name, name):
            lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def _lines(data: bytes) -> list[str]:
    """As ``patch`` counts them: str.splitlines would also split at form feeds."""
    return io.StringIO(decode(data), newline="\n").readlines()


def _write(changed: Mapping[str, bytes], before: Mapping[str, bytes]) -> None:
    from fsdp2_lint.files.writing import Change, write

    with refused():
        write(Change(path, before[path], data) for path, data in changed.items())
