"""What a rule says: places in source, and findings that tell a story over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

DOCS_URL = "https://fsdp2-lint.github.io/fsdp2-lint/rules/"


class Severity(Enum):
    """How bad it is: wrong numbers or a crash, waste, or advice (off by default)."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """A stretch of source. Rows and columns count from 1; the end column is exclusive."""

    path: str
    row: int
    column: int = 1
    end_row: int = 0
    end_column: int = 0
    cell: int = 0  # of a notebook, from 1; rows then count from its first one

    def __str__(self) -> str:
        return f"{self.path}:{self.row}"

    def within(self, other: Site) -> bool:
        """Is it a part of that stretch of source, or the same?"""
        start, end = (self.row, self.column), (self.end_row, self.end_column)
        same_text = (self.path, self.cell) == (other.path, other.cell)
        return same_text and (other.row, other.column) <= start and end <= (other.end_row, other.end_column)


NOWHERE = Site("<unknown>", 1)  # no code of the user was there


@dataclass(frozen=True, slots=True)
class Moment:
    """A site and how the program came there: call sites, outermost first."""

    at: Site
    stack: tuple[Site, ...] = ()

    @property
    def chain(self) -> tuple[Site, ...]:
        return (*self.stack, self.at)


@dataclass(frozen=True, slots=True)
class Place:
    """What most answers carry as their proof: when it happened, and what, in words."""

    when: Moment
    words: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """A site and what happens there."""

    site: Site
    message: str


@dataclass(frozen=True, slots=True)
class Observed:
    """Where in a job a finding was seen: ranks, training step (from 1), and the name of the module or parameter."""

    ranks: tuple[int, ...]
    step: int | None = None
    fqn: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """The text at ``site`` becomes ``text``. A site that ends where it starts is an insertion."""

    site: Site
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together. ``safe``: they keep what the program does, or can only mend what fails anyway."""

    edits: tuple[Edit, ...]
    safe: bool = True


@dataclass(frozen=True, slots=True)
class Seen:
    """How much was seen of what a finding is about: of a model; or of a script, a part or a file, if it is about none.

    ``words`` says of each rule that was judged whether it is violated, upheld or unknown, ``reasons`` what stayed
    open of it, also where it is violated. ``scripts`` are those that were followed to it; ``unfollowed`` is what they
    call that was not followed, and at how many places. ``functions`` are those that were followed: in a finding,
    those around its first place. There may be several of one name in one file: this is the ``number``-th of
    so many (``of``). ``torch`` is what the words speak for.
    """

    kind: str  # model, script, part or file
    name: str
    site: Site
    words: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    scripts: tuple[str, ...] = ()
    unfollowed: Mapping[str, int] = field(default_factory=dict)
    functions: Mapping[str, Site] = field(default_factory=dict)
    number: int = 1
    of: int = 1
    torch: tuple[int, int] | None = None

    @property
    def identity(self) -> tuple[str, str, str]:
        """What stays the same of it where lines move."""
        return self.kind, self.name, self.site.path


@dataclass(frozen=True, slots=True)
class Project:
    """The folder that was taken for the project, and which files there say so; none if it was only guessed."""

    folder: str
    markers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A proven violation of one rule. It cannot exist without a primary label."""

    code: str
    name: str
    severity: Severity
    message: str
    primary: Label
    help: str
    related: tuple[Label, ...] = ()
    observed: Observed | None = None
    fix: Fix | None = None
    standing: str = ""  # what a job says to a finding from the source, such as "confirmed at run time"
    fingerprint: str = ""  # the same where only lines moved; see fsdp2_lint.fingerprints
    about: tuple[Seen, ...] = field(default=(), compare=False, repr=False)
    project: Project | None = field(default=None, compare=False, repr=False)  # that its paths are of
    cause: str | None = None  # what one edit would mend; those that share it become one, see ``causes``
    also: tuple[Site, ...] = ()  # the other places of the same cause, also those that are not shown

    def __post_init__(self) -> None:
        if not isinstance(self.primary, Label) or not self.primary.site.path:
            raise ValueError(f"{self.code}: a finding needs a primary label with a place")

    @property
    def url(self) -> str:
        return f"{DOCS_URL}{self.name}/"

    @property
    def sites(self) -> tuple[Site, ...]:
        return (self.primary.site, *(label.site for label in self.related))

    def with_sites(self, change: Callable[[Site], Site]) -> Finding:
        """The same finding with each place changed."""
        if (fix := self.fix) is not None:
            fix = replace(fix, edits=tuple(replace(edit, site=change(edit.site)) for edit in fix.edits))
        return replace(
            self,
            primary=replace(self.primary, site=change(self.primary.site)),
            related=tuple(replace(label, site=change(label.site)) for label in self.related),
            fix=fix,
            also=tuple(map(change, self.also)),
            about=tuple(replace(seen, site=change(seen.site)) for seen in self.about),
        )

    @property
    def key(self) -> tuple[str, str, int]:
        """One fault is one code on one line, whichever analysis or entry point saw it."""
        return (self.code, self.primary.site.path, self.primary.site.row)


def part(early: Moment, late: Moment) -> tuple[Site, Site]:
    """Where two call chains part: the two statements in their deepest common function.

    A fault of order belongs to the function that decided the order, which need not be
    the one that holds either call.
    """
    for mine, other in zip(early.chain, late.chain):
        if mine != other:
            return mine, other
    return early.at, late.at


def story(*steps: tuple[Moment | Site, str]) -> tuple[Label, ...]:
    """Labels for the places of ``steps``, in order, each place once."""
    labels: dict[Site, Label] = {}
    for moment, message in steps:
        site = moment.at if isinstance(moment, Moment) else moment
        labels.setdefault(site, Label(site, message))
    return tuple(labels.values())


# -- small pieces of wording that several rules share
SHOWN = 3


def listed(names: Sequence[str]) -> str:
    """``a, b, c and 9 more``."""
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
