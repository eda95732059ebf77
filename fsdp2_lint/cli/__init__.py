"""The command line. Only this folder knows click; the work is done elsewhere.

Exit codes: 0 nothing found, 1 findings, 2 if something failed (bad usage, unreadable file, internal
error), 3 nothing was checked (`run`, `report` and `preflight`). What is interrupted ends by SIGINT.
Findings go to stdout, everything else to stderr, and no traceback to anybody.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
import os
import shlex
import sys
from collections.abc import Sequence

import click

from fsdp2_lint import __version__
from fsdp2_lint.cli.completion import VARIABLE
from fsdp2_lint.cli.streams import ABNORMAL, close_quietly, complain, note, refused, to_stdout
from fsdp2_lint.errors import DEBUG, INTERNAL, Refusal, debugging, in_words, nearest
from fsdp2_lint.settings.environment import refuse_nonsense
from fsdp2_lint.vocab.target import NEWEST, OLDEST, in_digits

_OF_FILES = ("check", "contract", "verify")  # the commands that pre-commit and shells give names of files
COMMANDS = (
    "check",
    "clean",
    "completion",
    "contract",
    "explain",
    "mcp",
    "preflight",
    "report",
    "rules",
    "run",
    "server",
    "verify",
)


class Commands(click.Group):
    """One module per command, loaded when the command is called: most calls are of a pre-commit hook."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"fsdp2_lint.cli.{name}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            meant = f"; did you mean `fsdp2-lint check {shlex.quote(args[0])}`?" if _is_a_path(args[0]) else ""
            ctx.fail(f"No such command {args[0]!r}{meant or nearest(args[0], COMMANDS, cutoff=0.6)}")
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(
    __version__,
    prog_name="fsdp2-lint",
    message=f"%(prog)s %(version)s (torch {in_digits(OLDEST)} to {in_digits(NEWEST)})",
)
def main() -> None:
    """Check PyTorch FSDP2 training code against its contract: its source, or a running job."""


def _is_a_path(word: str) -> bool:
    return word.endswith((".py", ".ipynb")) or os.path.lexists(word)


def _show(error: click.ClickException) -> None:
    """As click does, and without what names of files may do to a terminal."""
    text = io.StringIO()
    if isinstance(error, click.NoSuchOption):  # of which click names all that are near, by the alphabet
        hint = nearest(error.option_name, error.possibilities or ())
        error = click.UsageError(f"No such option {error.option_name}{hint}", error.ctx)
    error.show(text)
    if text.getvalue():  # our own failures have said it already
        note(text.getvalue().rstrip("\n"))


def _no_file_is_an_option(arguments: Sequence[str]) -> None:
    """A file may be called ``--fix``, and whoever lists the files of a project for us did not choose that option."""
    options = itertools.takewhile(lambda argument: argument != "--", arguments)
    for argument in options if arguments[:1] and arguments[0] in _OF_FILES else ():
        if len(argument) > 1 and argument.startswith("-") and os.path.lexists(argument):
            raise Refusal(f"{argument} is an option, and also a file here: name the file as ./{argument}, or behind --")


def invoke(arguments: Sequence[str]) -> int:
    """Run one command; the exit code. No exception leaves this function but KeyboardInterrupt."""
    if VARIABLE not in os.environ:
        return _invoke(arguments)
    with contextlib.redirect_stderr(io.StringIO()):  # a shell asks: what is said would appear in the line that is typed
        return _invoke(arguments)


def _invoke(arguments: Sequence[str]) -> int:
    try:
        with refused():
            refuse_nonsense(os.environ)
            _no_file_is_an_option(arguments)
        code = main.main(args=list(arguments), prog_name="fsdp2-lint", standalone_mode=False)
        if sys.stdout is not None:
            with to_stdout() as out:
                out.flush()  # also what a job printed that ran here
        return int(code or 0)
    except click.ClickException as error:
        _show(error)
    except (KeyboardInterrupt, click.Abort):
        complain("interrupted")
        raise KeyboardInterrupt from None
    except BrokenPipeError:
        close_quietly()
    except Exception as error:
        if debugging():
            raise
        complain(f"{INTERNAL}: {in_words(error)} ({DEBUG}=1 shows where; please report it)")
    return ABNORMAL
