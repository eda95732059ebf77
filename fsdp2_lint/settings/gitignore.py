"""The patterns of ``.gitignore`` files, as https://git-scm.com/docs/gitignore has them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable

_ANYTHING, _ANY_FOLDER = ".", "(?P<ps_d>/)"  # what pathspec makes of * and of */


class Lines:
    """The lines of one file, for paths relative to its folder."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = [made for line in lines if (made := _compiled(line)) is not None]
        self._lines.reverse()

    def say(self, path: str, *, folder: bool) -> bool | None:
        """Is the path itself, with ``/`` between its parts, left out? None if no line speaks of it.

        The last line that fits decides, as in git. (GitIgnoreSpec, which also asks the folders above, takes ``!*/`` for
        weaker than ``*``: of a tree with these lines it would leave out everything.)
        """
        whole = f"{path}/" if folder else path
        return next((leave_out for leave_out, pattern in self._lines if _fits(pattern, whole, folder)), None)


def _compiled(line: str) -> tuple[bool, re.Pattern[str]] | None:
    """None for a line that says nothing, or that git would not understand either."""
    if not line.strip() or line.startswith("#"):
        return None
    from pathspec import GitIgnoreSpec  # most runs need none of it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of re, about brackets in brackets
        try:
            (made,) = GitIgnoreSpec.from_lines([line]).patterns
        except (ValueError, re.error):  # as for ranges that run backwards
            return None
    return (made.include, made.regex) if made.include is not None and made.regex is not None else None


def _fits(pattern: re.Pattern[str], path: str, folder: bool) -> bool:
    """The patterns also find what lies in a folder that fits. Then they end before the path does."""
    if pattern.pattern in (_ANYTHING, _ANY_FOLDER):
        return folder or pattern.pattern == _ANYTHING
    found = pattern.search(path)
    if found is None:
        return False
    if pattern.pattern.endswith("/"):  # of a/**, which does not mean the folder itself
        return found.end() < len(path)
    return found.end() == len(path) and folder is (found.groupdict().get("ps_d") is not None)
