"""Options and steps that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fsdp2_lint.cli.streams import ABNORMAL, CLEAN, FOUND, Failure, complain, note, use_color
from fsdp2_lint.errors import Refusal
from fsdp2_lint.vocab.target import Version, parse

if TYPE_CHECKING:
    from fsdp2_lint.lint import Report

Command = TypeVar("Command", bound=Callable[..., Any])

STDIN = "-"

_SHARED: tuple[Callable[[Any], Any], ...] = (
    click.argument("paths", nargs=-1, type=click.Path()),
    click.option(
        "--select",
        multiple=True,
        metavar="CODES",
        help="Judge only these codes or prefixes, such as FSDP6. ALL adds advice (info).",
    ),
    click.option(
        "--ignore", multiple=True, metavar="CODES", help="Leave out these codes or prefixes. The longer prefix wins."
    ),
    click.option(
        "--target-torch",
        metavar="VERSION",
        callback=lambda context, option, value: _version(value),
        help="The torch that the code is to run on, such as 2.8. Default: the setting target-torch, else the version"
        " that the project pins, else the newest known.",
    ),
    click.option("--stdin-filename", metavar="FILE", help="The name of what is read from stdin when PATHS is -."),
    click.option("--no-cache", is_flag=True, help="Accepted for scripts that pass it: nothing is cached yet."),
    click.option(
        "--exit-zero", is_flag=True, help="Exit with 0 although there are findings. Failures still exit with 2."
    ),
    click.option(
        "-o", "--output-file", type=click.Path(dir_okay=False), help="Write the findings there and not to stdout."
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


@dataclass(frozen=True, slots=True)
class Options:
    """The values of the shared options; the fields carry the names that click gives them."""

    paths: tuple[str, ...]
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    target_torch: Version | None
    stdin_filename: str | None
    no_cache: bool
    exit_zero: bool
    output_file: str | None
    color: str
    dump_trace: bool

    @property
    def colored(self) -> bool:
        if self.output_file is not None:
            return self.color == "always"
        return use_color(self.color, sys.stdout)

    def exit_code(self, report: Report, *, found: bool) -> int:
        if report.failures:
            return ABNORMAL
        return FOUND if found and not self.exit_zero else CLEAN


def analyse(options: Options) -> Report:
    """Run the checker over what the command line names, and say on stderr what went wrong."""
    from fsdp2_lint.lint import lint

    stdin = None
    if STDIN in options.paths:
        stdin = (options.stdin_filename or "<stdin>", sys.stdin.buffer.read())
    elif options.stdin_filename is not None:
        raise click.UsageError("--stdin-filename needs - among the paths")
    named = [path for path in options.paths if path != STDIN] if options.paths else ["."]
    try:
        report = lint(
            named,
            stdin=stdin,
            select=split(options.select),
            ignore=split(options.ignore),
            target=options.target_torch,
            dump_trace=options.dump_trace,
        )
    except Refusal as refusal:
        raise Failure(str(refusal)) from None
    for trace in report.traces:
        note(trace)
    for message in report.notes:
        complain(message, "warning")
    for message in report.failures:
        complain(message)
    return report


def _version(text: str | None) -> Version | None:
    try:
        return parse(text) if text is not None else None
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def split(values: Sequence[str]) -> list[str]:
    """Codes that were given one by one or separated by commas."""
    return [code.strip() for value in values for code in value.split(",") if code.strip()]
