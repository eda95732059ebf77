"""What the tool reads of its environment: a value that means nothing is an error, whatever would come of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from fsdp2_lint.errors import DEBUG, BadSetting

MOST_JOBS = 8  # each needs some hundred MB for a large project
STEPS = "FSDP2_LINT_STEPS"
OF_JOBS = ("RANK", "WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT")


def refuse_nonsense(environment: Mapping[str, str]) -> None:
    """BadSetting for the first variable of the tool's own that holds what it cannot hold."""
    if environment.get(DEBUG, "") not in ("", "0", "1"):
        raise BadSetting(f"{DEBUG}: {environment[DEBUG]!r} is neither 0 nor 1")
    steps(environment)


def steps(environment: Mapping[str, str]) -> int | None:
    """How many steps each program may take; None if that is not said."""
    return _number(environment, STEPS, "steps", 1)


def refuse_odd_jobs(environment: Mapping[str, str]) -> None:
    """The same of what a launcher sets."""
    for name in OF_JOBS:
        _number(environment, name, "ranks or restarts", 0)


def _number(environment: Mapping[str, str], name: str, what: str, least: int) -> int | None:
    text = environment.get(name, "")
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < least:
        raise BadSetting(f"{name}: {text!r} is not a number of {what}; a whole number from {least} is expected")
    return int(text)


def possible_jobs() -> int:
    """How many processors this process may use; one where a process cannot begin with a copy of another's memory."""
    return min(len(os.sched_getaffinity(0)), MOST_JOBS) if sys.platform == "linux" else 1
