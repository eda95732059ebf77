"""A job's report, ready to be shown: with the user's selection, comments and source."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..catalogue.registry import Selection
from ..files.source import Sources
from ..findings.suppress import partition
from ..vocab.facts import in_words
from ..vocab.finding import Finding
from .outcome import Crash, JobReport

# What torch raises where there is no GPU: a build for CPUs, no driver, no device.
_NO_GPU = re.compile(r"_cuda_setDevice|not compiled with CUDA|no NVIDIA driver|No CUDA GPUs are available")


@dataclass(frozen=True, slots=True)
class View:
    report: JobReport
    findings: list[Finding]
    silenced: list[Finding]
    sources: Sources

    def crash(self, crash: Crash) -> str:
        """What ended the script, and what it means."""
        who = in_words(crash.ranks)
        first = f"{who} failed: {crash.error.splitlines()[0] if crash.error else 'without a message'}"
        if not crash.code:
            no_gpu = "\n  There is no GPU here. `fsdp2-lint preflight` rehearses such a script without one."
            return f"{first}{no_gpu if _NO_GPU.search(crash.error) else ''}"
        return f"{first}\n  {crash.code}: {crash.why}\n  fix: {crash.fix}"

    def summary(self, counted: str) -> str:
        """One line on the whole job; ``counted`` are the findings in words."""
        report = self.report
        job = f"{len(report.ranks)} rank{'s' if len(report.ranks) != 1 else ''}"
        job += f" rehearsed of {report.world_size:,}" if report.rehearsed else ""
        steps = f"{report.steps} training step{'s' if report.steps != 1 else ''}"
        silenced = f" {len(self.silenced)} silenced by comments." if self.silenced else ""
        if self.findings:
            return f"Found {counted} on {job} in {steps}.{silenced}"
        if report.stopped:
            return f"The rehearsal could not go on: nothing was found on {job} in {steps} before that.{silenced}"
        if not report.complete:
            return f"The report is not complete: nothing was found on {job} in {steps} so far.{silenced}"
        if not report.sharded:
            return f"Nothing was checked: no fully_shard was seen on {job}."
        return f"No findings on {job} in {steps}.{silenced}"


def view(report: JobReport, selection: Selection) -> View:
    sources = Sources()
    graded = [selection.graded(each).with_sites(sources.in_characters) for each in report.findings]
    wanted = [each for each in graded if selection.shows(each)]
    shown, silenced = partition(wanted, sources)
    return View(report, shown, silenced, sources)
