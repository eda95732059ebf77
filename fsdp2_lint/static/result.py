"""What an analysis is asked, and what it says: findings, and of each model which rules hold. It is not loaded here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..files.syntax import Problem
from ..vocab.declared import record
from ..vocab.finding import Finding, Label, Seen, Site
from ..vocab.rule import Rule
from ..vocab.target import Version
from .budget import BUDGET, Budget
from .frontend.lookup import Surroundings


# -- what is to be analysed, and all that the answer depends on beside the contents of files
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


@record
class RuleVerdict:
    code: str
    word: Literal["violated", "upheld", "unknown"]
    evidence: tuple[Label, ...]
    reasons: tuple[str, ...]
    settled_by: str


@record
class ModelVerdicts:
    """``site`` is where the model is built, or sharded first if that is not seen; ``judged`` are all places at which
    something was asked of it, those where it is sharded among them."""

    label: str
    site: Site
    rules: tuple[RuleVerdict, ...]
    judged: frozenset[tuple[str, int]] = frozenset()  # paths and rows


@record
class ProgramVerdicts:
    """What belongs to no single model, of a script, of code that no script was seen to call, or of a file's text.

    ``unfollowed`` are the calls that were not followed; ``ended`` is false where the budget, or a defect, cut it off.
    """

    kind: Literal["script", "part", "file"]
    name: str
    site: Site
    rules: tuple[RuleVerdict, ...]
    unfollowed: tuple[str, ...]
    ended: bool


@dataclass(slots=True)
class Rests:
    """What a result rests on beyond the request and the files of the project.

    ``contents``: a digest of each other file that was read. ``imports``: what each name means in the files of a folder,
    with so many dots, but for one file. ``pins``: what dependency files say of the versions that a file runs on.
    """

    contents: dict[str, str] = field(default_factory=dict)
    imports: dict[tuple[str, str, int, str], str | None] = field(default_factory=dict)
    pins: dict[tuple[str, str], str] = field(default_factory=dict)


@dataclass(slots=True)
class Result:
    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    models: list[ModelVerdicts] = field(default_factory=list)
    followed: list[ProgramVerdicts] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)  # of models, programs and files, whether or not anything was found
    files: int = 0
    programs: int = 0
    cut: int = 0  # of these, how many were not followed to their end
    out_of_budget: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    broken: list[tuple[str, str]] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)
    texts: dict[str, bytes] = field(default_factory=dict)  # what was read: findings are places in these
    rests: Rests = field(default_factory=Rests)
    repeatable: bool = True  # False: another run may say more, on a machine with more time or memory
