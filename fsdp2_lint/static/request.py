"""What is to be analysed, and all that the answer depends on beside the contents of files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ..vocab.rule import Rule
from ..vocab.target import Version
from .budget import BUDGET, Budget
from .frontend.lookup import Surroundings


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """``files`` are one project, with absolute paths; the order in which they are given means nothing.

    ``explicit`` names the files that the user asked for one by one: those are entry points even if they look like
    tests. ``overlay`` gives contents that are not on disk. ``target`` is the torch that was stated for all files; None
    leaves it to what each says it runs on. ``source_roots`` are folders for absolute imports, ``entry_points`` files
    (``train.py``) or functions (``train.py:main``) that come first. ``budget`` is what each program may cost.
    ``within`` is the project of which ``files`` are a part; None if they are all of it.
    """

    files: Sequence[str]
    root: str
    rules: Sequence[Rule]
    explicit: Collection[str] = ()
    overlay: Mapping[str, bytes] = field(default_factory=dict)
    target: Version | None = None
    source_roots: Sequence[str] = ()
    entry_points: Sequence[str] = ()
    budget: Budget = BUDGET
    within: Surroundings | None = None
