"""What ``check`` writes into files: fixes, and comments that silence findings."""

from __future__ import annotations

import difflib
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

from fsdp2_lint.cli.options import Options, analyse, say_problems
from fsdp2_lint.cli.streams import ABNORMAL, CLEAN, FOUND, Failure, deliver, note
from fsdp2_lint.cli.telling import summary, tell
from fsdp2_lint.output import plural
from fsdp2_lint.source import Sources, decode, display_path, place

if TYPE_CHECKING:
    from fsdp2_lint.lint import Asked, Report


def fix(
    options: Options, asked: Asked, *, write: bool, unsafe: bool, output_format: str, most: int | None = None
) -> int:
    """Mend findings in their files, or show the difference. What is read from stdin is printed as mended."""
    from fsdp2_lint.fix import mend

    mended = mend(lambda overlay: analyse(options, asked, overlay), unsafe=unsafe)
    say_problems(mended.report)
    fixed = f"Fixed {plural(len(mended.applied), 'finding')} in {plural(len(mended.changed), 'file')}."
    if not write:
        before = Sources(dict([options.stdin]) if options.stdin else None)
        deliver(difference(mended.changed, before), options.output_file)
        note(f"Would have fixed{fixed.removeprefix('Fixed')}")
        return ABNORMAL if mended.report.failures else FOUND if mended.changed and not options.exit_zero else CLEAN
    if options.stdin is not None:
        path, data = options.stdin
        deliver(mended.changed.pop(path, data), None)
        _write(mended.changed)
        note(summary(mended.report))
    else:
        _write(mended.changed)
        if mended.applied:
            note(fixed)
        tell(options, mended.report, output_format, most)
    return options.exit_code(mended.report, found=bool(mended.report.findings))


def add_ignore(options: Options, report: Report, reason: str) -> int:
    from fsdp2_lint.add_ignore import with_ignores

    ignored = with_ignores(report.findings, report.sources, report.files, reason)
    _write(ignored.changed)
    note(f"Silenced {plural(len(ignored.silenced), 'finding')} in {plural(len(ignored.changed), 'file')}.")
    for finding in ignored.left:
        note(f"{place(finding.primary.site)}: {finding.code} is left: no comment could be written for it")
    return options.exit_code(report, found=bool(ignored.left))


def difference(changed: Mapping[str, bytes], before: Sources) -> str:
    """A unified diff."""
    lines: list[str] = []
    for path in sorted(changed):
        old, new = _lines(before.data(path)), _lines(changed[path])
        name = display_path(path)
        for line in difflib.unified_diff(old, new, name, name):
            lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def _lines(data: bytes) -> list[str]:
    """As ``patch`` counts them: str.splitlines would also split at form feeds."""
    return io.StringIO(decode(data), newline="\n").readlines()


def _write(changed: Mapping[str, bytes]) -> None:
    for path, data in changed.items():
        try:
            with open(path, "r+b") as file:  # the same file: its mode, owner and links stay
                file.write(data)
                file.truncate()
        except OSError as error:
            raise Failure(f"{display_path(path)}: cannot be written: {error.strerror or error}") from None
