"""What is being looked at, on one line of stderr, if a person watches and it takes longer than a second."""

from __future__ import annotations

import os
import sys
import threading
import time

from fsdp2_lint.cli.streams import columns, is_terminal
from fsdp2_lint.output.terminal import clean

PATIENCE = 1.0  # seconds without a word
_EACH = 0.5  # seconds: how often the line is written anew, also where one thing takes long
_CLEAR = "\r\x1b[K"


class Progress:
    """Called with each thing that is looked at; as a context it leaves the line clean."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.watched = not quiet and is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb"
        self._since = time.monotonic()
        self._what = "reading files"
        self._shown = False
        self._over = threading.Event()
        self._clock = threading.Thread(target=self._run, name="fsdp2-lint progress", daemon=True)

    def __enter__(self) -> Progress:
        if self.watched:
            self._clock.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        if self.watched:
            self._clock.join()
        if self._shown:
            self._write(_CLEAR)

    def __call__(self, what: str) -> None:
        self._what = what  # it is the thread that shows it: what comes and goes in between nobody could read

    def _run(self) -> None:
        while not self._over.wait(_EACH):
            self.show()

    def show(self) -> None:
        """Write the line, unless it is too early."""
        seconds = time.monotonic() - self._since
        if seconds >= PATIENCE:
            self._shown = True
            text = f"{int(seconds)} s: {clean(os.path.basename(self._what))}"
            self._write(_CLEAR + text[: (columns(sys.stderr) or 80) - 1])

    @staticmethod
    def _write(text: str) -> None:
        try:
            # Not through the buffer of the stream, whose lock a process that begins now would inherit as taken.
            os.write(sys.stderr.fileno(), text.encode(sys.stderr.encoding or "utf-8", "replace"))
        except (OSError, ValueError):
            pass  # as in streams.note
