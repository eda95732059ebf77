"""What ``check`` writes into files: fixes, and comments that silence findings."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from fsdp2_lint.cli.check import summary, tell
from fsdp2_lint.cli.options import Options, analyse, say_problems
from fsdp2_lint.cli.streams import ABNORMAL, CLEAN, FOUND, Failure, deliver, note
from fsdp2_lint.output import plural
from fsdp2_lint.source import Sources, decode, display_path

if TYPE_CHECKING:
    from fsdp2_lint.lint import Asked, Report


def fix(options: Options, asked: Asked, *, write: bool, unsafe: bool, output_format: str) -> int:
    """Mend findings in their files, or show the difference. What is read from stdin is printed as mended."""
    from fsdp2_lint.fix import mend

    mended = mend(lambda overlay: analyse(options, asked, overlay), unsafe=unsafe)
    say_problems(mended.report)
    fixed = f"Fixed {plural(len(mended.applied), 'finding')} in {plural(len(mended.changed), 'file')}."
    if not write:
        deliver(difference(mended.changed, Sources(dict([options.stdin]) if options.stdin else None)), None)
        note(f"Would have fixed{fixed.removeprefix('Fixed')}")
        return ABNORMAL if mended.report.failures else FOUND if mended.changed and not options.exit_zero else CLEAN
    if options.stdin is not None:
        path, data = options.stdin
        deliver(decode(mended.changed.pop(path, data)), None)
        _write(mended.changed)
        note(summary(mended.report))
    else:
        _write(mended.changed)
        if mended.applied:
            note(fixed)
        tell(options, mended.report, output_format)
    return options.exit_code(mended.report, found=bool(mended.report.findings))


def add_ignore(options: Options, report: Report, reason: str) -> int:
    from fsdp2_lint.add_ignore import with_ignores

    changed = with_ignores(report.findings, report.sources, reason)
    _write(changed)
    note(f"Silenced {plural(len(report.findings), 'finding')} in {plural(len(changed), 'file')}.")
    return options.exit_code(report, found=False)


def difference(changed: Mapping[str, bytes], before: Sources) -> str:
    """A unified diff."""
    lines: list[str] = []
    for path in sorted(changed):
        old, new = decode(before.data(path)).splitlines(True), decode(changed[path]).splitlines(True)
        name = display_path(path)
        for line in difflib.unified_diff(old, new, name, name):
            lines.append(line if line.endswith(("\n", "\r")) else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def _write(changed: Mapping[str, bytes]) -> None:
    for path, data in changed.items():
        try:
            with open(path, "r+b") as file:  # the same file: its mode, owner and links stay
                file.write(data)
                file.truncate()
        except OSError as error:
            raise Failure(f"{display_path(path)}: cannot be written: {error.strerror or error}") from None
