"""Reasons for which a run cannot be done as asked. ``str(exc)`` is for the user."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable


class Refusal(Exception):
    """Base class: the command line prints the message and exits with 2."""


class NothingToCheck(Refusal):
    """The given paths hold no Python file."""


class BadSetting(Refusal):
    """A file of settings says what the tool cannot use."""


class UnknownCode(Refusal):
    """A code, prefix or name that fits no rule."""


DEBUG = "FSDP2_LINT_DEBUG"
INTERNAL = "internal error"


def debugging() -> bool:
    """Are defects to end the run, with their traceback?"""
    return os.environ.get(DEBUG, "") not in ("", "0")


class CostsOnly:
    """A defect costs this part of a run: ``tell`` gets the part and the defect in words, and the run goes on.

    A :class:`Refusal` is no defect. With ``FSDP2_LINT_DEBUG`` a defect ends the run, with its traceback.
    """

    def __init__(self, part: str, tell: Callable[[str, str], object]) -> None:
        self._part, self._tell = part, tell

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, Exception) or isinstance(error, Refusal) or debugging():
            return False
        self._tell(self._part, in_words(error))
        return True


def in_words(error: BaseException) -> str:
    """On one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def nearest(given: str, known: Iterable[str], cutoff: float = 0.3) -> str:
    """``; did you mean X?``, or nothing where nothing known is near."""
    import difflib

    near = difflib.get_close_matches(given, list(known), n=1, cutoff=cutoff)
    return f"; did you mean {near[0]}?" if near else ""


def likeness(given: str, known: str) -> float:
    """From 0 to 1: of the letters, how many the two have in common, in the same order."""
    import difflib

    return difflib.SequenceMatcher(None, given, known).ratio()
