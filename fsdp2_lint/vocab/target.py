"""Which torch a checked program runs on: the rules speak for that version."""

from __future__ import annotations

import re

Version = tuple[int, int]
"""Major and minor, such as ``(2, 13)``."""

OLDEST: Version = (2, 5)
NEWEST: Version = (2, 15)
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\D.*)?")


def in_digits(version: Version) -> str:
    """``2.13``."""
    return f"{version[0]}.{version[1]}"


def in_words(version: Version) -> str:
    """``torch 2.13``."""
    return f"torch {in_digits(version)}"


def parse(text: str) -> Version:
    """Of ``2.13``, ``2.13.1`` or ``2.13.0a0+cpu`` what counts; ValueError if it is no version."""
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a version of torch (expected, for example, 2.8)")
    return int(found[1]), int(found[2])


def known(text: str) -> Version:
    """The same of what was stated as a target; ValueError too if it is none of the versions that are known."""
    version = parse(text)
    if version != nearest_known(version):
        raise ValueError(f"{in_words(version)} is not known (known: {in_digits(OLDEST)} to {in_digits(NEWEST)})")
    return version


def nearest_known(version: Version) -> Version:
    """Itself, or the end of the range beyond which it lies."""
    return min(max(version, OLDEST), NEWEST)
