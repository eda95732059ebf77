"""Rehearsals of scripts, for tests."""

from __future__ import annotations

import os
from pathlib import Path

from fsdp2_lint.catalogue import registry
from fsdp2_lint.preflight.part import Asked, Script
from fsdp2_lint.preflight.rehearsal import rehearse
from fsdp2_lint.report.job import read_job
from fsdp2_lint.report.outcome import JobReport

REAL = Asked(depth="real", steps=3)


def rehearsed(script: Path, folder: Path, *arguments: str, size: int = 2, asked: Asked = REAL) -> JobReport:
    """What comes of the rehearsal of one job size. What the script writes lies beside the report."""
    here = os.getcwd()
    os.chdir(folder.parent)
    try:
        [report] = rehearse(Script(str(script), arguments), asked, [size], folder)
    finally:
        os.chdir(here)
    return read_job(report, registry.rules())
