"""Options and steps that several commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fsdp2_lint.catalogue.codes import selected, split
from fsdp2_lint.cli import completion
from fsdp2_lint.cli.streams import (
    ABNORMAL,
    CLEAN,
    FOUND,
    Failure,
    columns,
    complain,
    note,
    refuse_closed,
    sum_up,
    use_color,
)
from fsdp2_lint.cli.streams import refused as refused
from fsdp2_lint.errors import DEBUG, INTERNAL
from fsdp2_lint.files.reading import NOTEBOOK_BYTES
from fsdp2_lint.vocab.target import Version, known

if TYPE_CHECKING:
    from fsdp2_lint.findings.asked import Asked
    from fsdp2_lint.findings.outcome import Report
    from fsdp2_lint.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])

STDIN = "-"


def of_codes(name: str, help: str) -> Callable[[Any], Any]:
    """An option that takes codes, prefixes or names, and completes them."""
    return click.option(name, multiple=True, metavar="CODES", shell_complete=completion.codes, help=help)


_SHARED: tuple[Callable[[Any], Any], ...] = (
    click.argument("paths", nargs=-1, type=click.Path()),
    of_codes(
        "--select",
        "Check only these codes or prefixes, such as FSDP6; overrides the selection in the settings. ALL adds"
        " advice (info).",
    ),
    of_codes("--extend-select", "Judge these in addition."),
    of_codes("--ignore", "Leave out these codes or prefixes. The longer prefix wins."),
    click.option(
        "--target-torch",
        metavar="VERSION",
        shell_complete=completion.versions,
        callback=lambda context, option, value: _version(value),
        help="The version of torch that the code will run on, such as 2.8. Default: the setting target-torch, else the"
        " version that the project pins, else the newest known.",
    ),
    click.option("--config", metavar="FILE", type=click.Path(dir_okay=False), help="Read the settings from this file."),
    click.option("--isolated", is_flag=True, help="Read no settings."),
    click.option(
        "--force-exclude",
        is_flag=True,
        help="Apply `exclude` to files that are named on the command line, too, as pre-commit needs.",
    ),
    click.option(
        "--stdin-filename",
        metavar="FILE",
        shell_complete=completion.files,
        help="The name of what is read from stdin when PATHS is -.",
    ),
    click.option(
        "--budget",
        type=click.IntRange(min=1),
        metavar="STEPS",
        help="How far each program is followed. Default: 200,000 steps for a script, 100,000 for what no script calls.",
    ),
    click.option(
        "--jobs",
        type=click.IntRange(min=1),
        metavar="N",
        help="How many processes follow the programs of a large project. Default: by the processors, at most 8.",
    ),
    click.option("--no-cache", is_flag=True, help="Do not read or write the cache."),
    click.option(
        "--cache-dir",
        metavar="FOLDER",
        type=click.Path(file_okay=False),
        help="Where answers are kept. Default: .fsdp2-lint-cache in the project's root.",
    ),
    click.option(
        "--exit-zero", is_flag=True, help="Exit with 0 although there are findings. Failures still exit with 2."
    ),
    click.option("-q", "--quiet", is_flag=True, help="Only findings, errors and warnings: no summary, no progress."),
    click.option(
        "-o",
        "--output-file",
        type=click.Path(dir_okay=False),
        help="Write the findings to this file instead of stdout.",
    ),
    click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        help="auto: on a terminal. NO_COLOR and FORCE_COLOR are honoured.",
    ),
    click.option("--dump-trace", is_flag=True, hidden=True),
)


def shared(command: Command) -> Command:
    """The options of every command that analyses files."""
    for option in reversed(_SHARED):
        command = option(command)
    return command


@dataclass(frozen=True)
class Options:
    """The values of the shared options; the fields carry the names that click gives them."""

    paths: tuple[str, ...]
    select: tuple[str, ...]
    extend_select: tuple[str, ...]
    ignore: tuple[str, ...]
    target_torch: Version | None
    config: str | None
    isolated: bool
    force_exclude: bool
    stdin_filename: str | None
    budget: int | None
    jobs: int | None
    no_cache: bool
    cache_dir: str | None
    exit_zero: bool
    quiet: bool
    output_file: str | None
    color: str
    dump_trace: bool

    @property
    def colored(self) -> bool:
        if self.output_file is not None:
            return self.color == "always"
        return use_color(self.color, sys.stdout)

    @property
    def width(self) -> int | None:
        return columns(sys.stdout) if self.output_file is None else None

    def say(self, message: str) -> None:
        """What is neither a finding nor a problem: summaries, and what was done."""
        if not self.quiet:
            sum_up(message)

    def say_unjudged(self, message: str) -> None:
        """Success would read as if all were right, so where no summary is wanted it is a warning."""
        if self.quiet:
            complain(message, "warning")
        else:
            sum_up(message)

    def exit_code(self, report: Report, *, found: bool) -> int:
        if report.failures:
            return ABNORMAL
        return FOUND if found and not self.exit_zero else CLEAN

    @cached_property
    def stdin(self) -> tuple[str, bytes] | None:
        """The name and the contents of what comes from stdin, which can be read once."""
        from fsdp2_lint.files.discovery import UNNAMED

        if STDIN in self.paths:
            refuse_closed("stdin")
            return os.path.realpath(self.stdin_filename or UNNAMED), sys.stdin.buffer.read(NOTEBOOK_BYTES + 1)
        if self.stdin_filename is not None:
            raise click.UsageError("--stdin-filename needs - among the paths")
        return None

    @property
    def named(self) -> list[str]:
        named = [path for path in self.paths if path != STDIN] if self.paths else ["."]
        return [self.stdin[0], *named] if self.stdin is not None else named

    @cached_property
    def settings(self) -> Settings:
        """Those of the project, or what --config and --isolated say."""
        from fsdp2_lint.files.discovery import common_folder
        from fsdp2_lint.settings import Settings, settings, settings_in

        if self.isolated and self.config is not None:
            raise click.UsageError("--isolated and --config exclude each other")
        if self.isolated:
            return Settings()
        with refused():
            return settings_in(Path(self.config)) if self.config is not None else settings(common_folder(self.named))

    @property
    def asked(self) -> Asked:
        """What the command line says, over the settings of the project that the named paths lie in."""
        from fsdp2_lint.findings.asked import Asked
        from fsdp2_lint.settings.environment import possible_jobs

        return Asked(
            select=selected(self.select),
            extend_select=split(self.extend_select),
            ignore=split(self.ignore),
            target=self.target_torch,
            settings=self.settings,
            force_exclude=self.force_exclude,
            dump_trace=self.dump_trace,
            steps=self.budget,
            jobs=self.jobs or possible_jobs(),
            cache=not self.no_cache,
            cache_dir=self.cache_dir,
        )


def analyse(
    options: Options,
    asked: Asked | None = None,
    overlay: Mapping[str, bytes] | None = None,
    paths: Sequence[str] | None = None,
) -> Report:
    """Run the checker over what the command line names, or over other paths."""
    from fsdp2_lint.cli.progress import Progress
    from fsdp2_lint.lint import lint

    given = dict([options.stdin] if options.stdin is not None else [])
    files = {**given, **(overlay or {})}
    with refused(), Progress(quiet=options.quiet) as progress:
        return lint(paths or options.named, asked or options.asked, overlay=files, progress=progress)


def say_problems(report: Report) -> None:
    """On stderr: what went wrong, and what was left undecided."""
    from fsdp2_lint.files.source import display_text

    for trace in report.traces:
        note(display_text(trace))
    for message in report.notes:
        complain(message, "warning")
    for message in report.failures:
        complain(message)
    if any(message.startswith(INTERNAL) for message in report.failures):
        note(f"{DEBUG}=1 shows where an internal error is; please report it")


def _version(text: str | None) -> Version | None:
    try:
        return known(text) if text is not None else None
    except ValueError as error:
        raise Failure(f"--target-torch: {error}") from None
