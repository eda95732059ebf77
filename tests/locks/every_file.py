"""Check each Python file of a folder on its own, in this process, and say where the tool itself breaks.

    python -m tests.locks.every_file FOLDER [--tree]

Prints one line for each file with an internal error, and the summary of the traceback; exit code 1 if there is one.
``--tree`` also checks the folder as a whole.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fsdp2_lint.errors import Refusal
from fsdp2_lint.files.discovery import SKIPPED_FOLDERS
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.lint import lint
from fsdp2_lint.output import FORMATS, render


@dataclass(frozen=True)
class Trouble:
    """A defect of the tool, met on these paths."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


ALL = Asked(select=["ALL"])


def trouble(paths: list[str], overlay: Mapping[str, bytes] | None = None, asked: Asked = ALL) -> list[Trouble]:
    """Check and write in all formats: internal errors, and exceptions that are no refusal."""
    try:
        report = lint(paths, asked, overlay=overlay)
        for name in FORMATS:
            render(name, report.findings, report.sources)
        for finding in report.findings:
            str(finding.fix)
    except Refusal:
        return []
    except Exception as error:  # the very thing that is looked for
        return [Trouble(paths[0], summary(error))]
    return [Trouble(paths[0], each) for each in report.failures if "internal error" in each]


def summary(error: BaseException) -> str:
    """Type, message and the innermost places of an exception."""
    places = traceback.extract_tb(error.__traceback__)[-3:]
    where = " < ".join(f"{Path(each.filename).name}:{each.lineno} {each.name}" for each in reversed(places))
    return f"{type(error).__name__}: {error} at {where}"


def python_files(folder: str) -> Iterator[str]:
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if each[0] != "." and each not in SKIPPED_FOLDERS)
        yield from (os.path.join(top, name) for name in sorted(names) if name.endswith(".py"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--tree", action="store_true", help="also the folder as a whole")
    options = parser.parse_args()
    files = list(python_files(options.folder))
    with tempfile.TemporaryDirectory() as kept:  # what one file's programs said is asked again for the next
        asked = replace(ALL, cache=True, cache_dir=kept)
        whole = [options.folder] if options.tree else []
        found = [each for path in [*files, *whole] for each in trouble([path], asked=asked)]
    for each in found:
        print(each)
    print(f"{len(files)} files, {len(found)} internal errors", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
