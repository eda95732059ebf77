"""Reasons for which a run cannot be done as asked. ``str(exc)`` is for the user."""

from __future__ import annotations

from collections.abc import Iterable


class Refusal(Exception):
    """Base class: the command line prints the message and exits with 2."""


class NothingToCheck(Refusal):
    """The given paths hold no Python file."""


class BadSetting(Refusal):
    """A file of settings says what the tool cannot use."""


class UnknownCode(Refusal):
    """A code, prefix or name that fits no clause."""


def nearest(given: str, known: Iterable[str]) -> str:
    """``; did you mean X?``, or nothing where nothing known is near."""
    import difflib

    near = difflib.get_close_matches(given, list(known), n=1, cutoff=0.3)
    return f"; did you mean {near[0]}?" if near else ""
