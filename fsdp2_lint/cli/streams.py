"""stdout for results, stderr for everything else, and when to use colour."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

import click

from fsdp2_lint.errors import Refusal
from fsdp2_lint.output.terminal import fitted, harmless, one_line

CLEAN, FOUND, ABNORMAL = 0, 1, 2
_WIDTH = re.compile("[1-9][0-9]{0,5}")  # another value of COLUMNS, which belongs to the shell, is none


class Failure(click.ClickException):
    """The run cannot be done as asked; the message is for the user."""

    exit_code = ABNORMAL

    def show(self, file: object = None) -> None:
        complain(self.message)


class refused:
    """Turns what cannot be done as asked into a failure of the command."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Refusal):
            raise Failure(str(error)) from None


def complain(message: str, kind: str = "error") -> None:
    note(one_line(f"{kind}: {message}"))


def note(message: str) -> None:
    """Names of files and words of theirs may be in it."""
    try:
        click.echo(harmless(message).encode(errors="backslashreplace").decode(), err=True)
    except OSError:
        pass  # nobody reads stderr, and there is no other place to say so


def sum_up(message: str) -> None:
    """As :func:`note`, fitted to the terminal: such sentences are long, and nobody copies them."""
    note("\n".join(fitted(message, columns(sys.stderr), 0, 0)))


def deliver(result: str | bytes, output_file: str | None) -> None:
    """Write results."""
    if output_file is not None:
        from fsdp2_lint.files.writing import NotWritten, put

        try:
            put(output_file, _encoded(result, "utf-8"))
        except NotWritten as refusal:
            raise Failure(str(refusal)) from None
        except (OSError, ValueError) as error:
            raise Failure(f"{output_file}: cannot be written: {getattr(error, 'strerror', None) or error}") from error
        return
    with to_stdout() as out:
        data = _encoded(result, getattr(out, "encoding", None) or "utf-8")
        out.flush()
        out.buffer.write(data)
        out.buffer.flush()


@contextmanager
def to_stdout() -> Iterator[TextIO]:
    """A reader who has seen enough (``| head``) is no error, and one who never was there (``>&-``) is."""
    if sys.stdout is None:
        raise Failure("stdout: cannot be written: it is closed")
    try:
        yield sys.stdout
    except BrokenPipeError:
        close_quietly()
    except OSError as error:
        close_quietly()
        raise Failure(f"stdout: cannot be written: {error.strerror or error}") from error


def refuse_closed(*names: str) -> None:
    """Those of the standard streams without which a command can do nothing."""
    for name in names:
        if getattr(sys, name) is None:
            raise Failure(f"{name} is closed, and this command needs it")


def _encoded(result: str | bytes, encoding: str) -> bytes:
    return result if isinstance(result, bytes) else result.encode(encoding, errors="backslashreplace")


def close_quietly() -> None:
    """Point stdout at nothing, so that the interpreter's last flush does not complain."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass


def is_terminal(stream: TextIO | None) -> bool:
    """None is what Python has of a stream that the process was started without (``>&-``)."""
    return stream is not None and stream.isatty()


def columns(stream: TextIO | None, environment: Mapping[str, str] = os.environ) -> int | None:
    """How wide a terminal is, as COLUMNS says or else itself; None of what is none, or does not say."""
    said = environment.get("COLUMNS", "")
    try:
        if stream is None or not stream.isatty():
            return None
        return int(said) if _WIDTH.fullmatch(said) else os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        return None


def use_color(choice: str, stream: TextIO | None, environment: Mapping[str, str] = os.environ) -> bool:
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "0") != "0" or environment.get("CLICOLOR_FORCE", "0") != "0":
        return True
    return is_terminal(stream) and environment.get("TERM") != "dumb"
