"""``fsdp2-lint preflight``."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from fsdp2_lint.cli import completion
from fsdp2_lint.cli.job_output import JobOptions, job_options, present_all, read_report, worst
from fsdp2_lint.cli.run import DEFAULT_FOLDER, refuse_absent
from fsdp2_lint.cli.streams import Failure, complain, deliver, refused, use_color
from fsdp2_lint.preflight.page import text
from fsdp2_lint.preflight.part import Asked, Script
from fsdp2_lint.preflight.rehearsal import rehearse
from fsdp2_lint.preflight.result import result
from fsdp2_lint.settings import Settings, settings
from fsdp2_lint.settings.environment import refuse_odd_jobs

if TYPE_CHECKING:
    from fsdp2_lint.report.outcome import JobReport


Page = tuple[Any, str]  # the module that writes it, and the file


class Numbers(click.ParamType[tuple[int, ...]]):
    """Numbers separated by commas, each at least ``least``."""

    name = "numbers"

    def __init__(self, least: int) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in value.split(",")]
        if not all(word.isascii() and word.isdigit() and int(word) >= self.least for word in words):
            self.fail(f"{value!r}: numbers of {self.least} or more, separated by commas, are needed", param, ctx)
        return tuple(dict.fromkeys(map(int, words)))


@click.command(context_settings={"allow_interspersed_args": False})  # what follows the script is its own
@click.option(
    "--world-size", type=Numbers(1), default="8", show_default=True, metavar="N,N…", help="How many ranks the job has."
)
@click.option(
    "--depth",
    type=click.Choice(["plan", "step", "real"]),
    default="step",
    show_default=True,
    help="plan: to the first forward. step: some training steps without numbers. real: with numbers, on the CPU.",
)
@click.option(
    "--steps", type=click.IntRange(min=0), default=2, show_default=True, help="Optimizer steps; 0: to the script's end."
)
@click.option("--gpus-per-node", type=click.IntRange(min=1), default=8, show_default=True)
@click.option(
    "--ranks", type=Numbers(0), default=(), metavar="N,N…", help="Simulate these ranks. Default: one of each kind."
)
@click.option(
    "--stall-after",
    type=click.FloatRange(min=0),
    default=600.0,
    show_default=True,
    help="Give up on a rank after this many seconds without progress; 0: never.",
)
@click.option("--json", type=click.Path(dir_okay=False), metavar="FILE", help="Write plan, memory and findings there.")
@click.option("--html", type=click.Path(dir_okay=False), metavar="FILE", help="Write a page with pictures there.")
@click.option("--report-dir", type=click.Path(file_okay=False), default=DEFAULT_FOLDER, show_default=True)
@job_options
@click.option("-m", "kind", flag_value="-m", help="SCRIPT is a module, as for python -m.")
@click.option("-c", "kind", flag_value="-c", help="SCRIPT is Python code, as for python -c.")
@click.argument("script", required=False, shell_complete=completion.files)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, shell_complete=completion.files)
def preflight(**given: Any) -> int:
    """Rehearse a job of any size without GPUs.

    fsdp2-lint preflight --world-size 8,1024 train.py ARGS. The script is not changed: it runs once per kind of
    rank, with the other ranks simulated. Without a script, those of the setting `rehearsals` run. Exit codes:
    0 nothing found, 1 findings, 2 if something failed, 3 the script could not be rehearsed, or no fully_shard
    was seen.
    """
    options = JobOptions.of(given)
    with refused():
        refuse_odd_jobs(os.environ)
        found = settings(os.getcwd())
    scripts = _scripts(given, found)
    asked = Asked(
        given["depth"],
        given["steps"],
        given["gpus_per_node"],
        given["ranks"],
        options.select,
        options.ignore,
        given["stall_after"],
        found.target_torch,
    )
    pages = list(_pages(given["json"], given["html"]))
    if pages and len(scripts) > 1:
        raise Failure("--json and --html are of one script: name it")
    return worst(_one(script, asked, given, options, pages) for script in scripts)


def _scripts(given: dict[str, Any], found: Settings) -> list[Script]:
    """The one that is named, or those of the settings, as they are seen from the folder of that file."""
    if given["script"] is not None:
        refuse_absent(given["kind"], given["script"])
        return [Script(given["script"], given["arguments"], given["kind"] or "")]
    if not found.rehearsals:
        raise Failure("no script is named, and the settings have no `rehearsals`")
    assert found.file is not None, "who names rehearsals has a file"
    os.chdir(found.file.parent)
    return [_script(shlex.split(each)) for each in found.rehearsals]


def _script(words: list[str]) -> Script:
    kind: Literal["", "-m"] = "-m" if words[0] == "-m" else ""
    name, *arguments = words[1:] if kind else words
    refuse_absent(kind or None, name)
    return Script(name, tuple(arguments), kind)


def _one(script: Script, asked: Asked, given: dict[str, Any], options: JobOptions, pages: list[Page]) -> int:
    told = [(folder, read_report(folder)) for folder in _rehearse(script, asked, given)]
    reports = [report for _, report in told]
    for why in _stops(reports):
        complain(f"the script cannot be rehearsed further: {why}")
    code = present_all(reports, options)
    rehearsal = result(script, asked, told, {found.key: found for each in reports for found in each.findings}.values())
    if options.output_format in ("full", "concise") and options.output_file is None:
        deliver(text.render(rehearsal, color=use_color(options.color, sys.stdout)), None)
    for page, file in pages:
        deliver(page.render(rehearsal), file)
    return code


def _pages(data: str | None, html: str | None) -> Iterator[Page]:
    """What writes each file that is asked for. What it needs is there before the rehearsal, which takes its time."""
    if data is not None:
        from fsdp2_lint.preflight.page import json

        yield json, data
    if html is not None:
        if importlib.util.find_spec("matplotlib") is None:
            raise Failure("--html needs matplotlib: pip install 'fsdp2-lint[preflight]'")
        from fsdp2_lint.preflight.page import html as page

        yield page, html


def _rehearse(script: Script, asked: Asked, given: dict[str, Any]) -> list[Path]:
    if importlib.util.find_spec("torch") is None:
        raise Failure("`preflight` needs PyTorch in this environment; a build for CPUs will do")
    sizes = given["world_size"]
    if absent := [rank for rank in asked.ranks if rank >= max(sizes)]:
        raise Failure(f"--ranks {absent[0]}: the largest job asked for has ranks 0 to {max(sizes) - 1}")
    return rehearse(script, asked, sizes, Path(given["report_dir"]).absolute())


def _stops(reports: list[JobReport]) -> list[str]:
    """Where it went no further, but for what a rule explains: that is shown as a finding."""
    found: dict[str, None] = {}
    for report in reports:
        explained = {rank for crash in report.crashes if crash.code for rank in crash.ranks}
        report.crashes = [crash for crash in report.crashes if crash.code]
        found.update({stop.words: None for rank, stop in report.stopped.items() if rank not in explained})
    return list(found)
