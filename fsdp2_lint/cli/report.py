"""``fsdp2-lint report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fsdp2_lint.cli.job_output import JobOptions, job_options, present, read_chosen


@click.command()
@click.argument("folder", type=click.Path(file_okay=False))
@job_options
def report(folder: str, **given: Any) -> int:
    """Merge what the ranks of a job reported.

    Also works for a job that was killed.

    FOLDER is the folder of one job, or a folder that contains several (the newest is used). Exit codes:
    0 nothing found, 1 findings, 2 if something failed or is not complete, 3 nothing was checked.
    """
    options = JobOptions.of(given)  # first: a misspelt code is an error whatever there is to read
    return present(read_chosen(Path(folder)), options)
