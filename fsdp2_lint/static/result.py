"""What an analysis says: findings, and of each model which rules hold. The analysis itself is not loaded here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..files.syntax import Problem
from ..vocab.finding import Finding, Label, Seen, Site


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    code: str
    word: Literal["violated", "upheld", "unknown"]
    evidence: tuple[Label, ...]
    reasons: tuple[str, ...]
    settled_by: str


@dataclass(frozen=True, slots=True)
class ModelVerdicts:
    """``site`` is where the model is built, or sharded first if that is not seen; ``judged`` are all places at which
    something was asked of it, those where it is sharded among them."""

    label: str
    site: Site
    rules: tuple[RuleVerdict, ...]
    judged: frozenset[tuple[str, int]] = frozenset()  # paths and rows


@dataclass(frozen=True, slots=True)
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
    with so many dots, but for one file. ``oldest``: the torch that dependency files say a file runs on, in words.
    """

    contents: dict[str, str] = field(default_factory=dict)
    imports: dict[tuple[str, str, int, str], str | None] = field(default_factory=dict)
    oldest: dict[str, str] = field(default_factory=dict)


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
