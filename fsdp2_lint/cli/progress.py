"""What is being looked at, on one line of stderr, if a person watches and it takes long."""

from __future__ import annotations

import os
import sys
import time

from fsdp2_lint.output.terminal import clean

PATIENCE = 2.0  # seconds without a word
_CLEAR = "\r\x1b[K"


class Progress:
    """Called with each place that is looked at; as a context it leaves the line clean."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._watched = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._since = time.monotonic()
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self._shown:
            self._write(_CLEAR)

    def __call__(self, place: str) -> None:
        seconds = time.monotonic() - self._since
        if self._watched and seconds > PATIENCE:
            self._shown = True
            self._write(f"{_CLEAR}{int(seconds)} s: {clean(os.path.basename(place))}"[:100])

    @staticmethod
    def _write(text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            pass  # as in streams.note
