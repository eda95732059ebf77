"""A rule of the contract as code, and the dispatcher that puts events before the rules."""
# mypy: implicit-reexport

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from types import FunctionType
from typing import ClassVar, Literal

from .answers import CannotTell, Used, in_words, listening
from .declared import record
from .events.base import Event
from .facts import Facts
from .finding import Finding, Fix, Moment, Place, Severity, Site, part, story
from .target import NEWEST, Version


class _Judged:
    def __repr__(self) -> str:
        return "APPLIES"


APPLIES = _Judged()
"""Yielded by a handler where the rule applies. Upheld follows from the answers that it used, never from silence."""

Outcome = Finding | _Judged
Outcomes = Iterator[Outcome]
"""What a handler gives."""


class Rule:
    """One rule, named as its module. Subclasses judge events.

    A handler is a generator method whose parameter ``event`` is annotated with an event
    class; the annotation subscribes it. It yields :data:`APPLIES` where the rule applies
    and findings where it is violated. Asking an unknown answer for its truth leaves the
    handler, and the verdict is *unknown* with that answer's reason. Where a handler ends without
    a finding, the rule is upheld by the closures and the evidence of the answers that it asked
    for their truth (or by the event itself, which is a fact); where a listing that it went through
    may go on, it is unknown.

    ``self.target`` is the version of torch that the program runs on, for rules whose truth depends on it.

    A rule about the agreement of ranks names the kind of :class:`~fsdp2_lint.vocab.facts.Fact`
    that it ``compares`` and judges the facts of several ranks in :meth:`compare`. Ranks that all say the same are
    at one, and nobody is asked, unless facts of that kind ought to be ``each_its_own``.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    summary: ClassVar[str]
    severity: ClassVar[Severity]
    judged_by: ClassVar[str]
    help: ClassVar[str]
    compares: ClassVar[str] = ""
    each_its_own: ClassVar[bool] = False
    words: ClassVar[tuple[str, ...]] = ()  # files with these are looked at even if nothing in them speaks of FSDP2
    handlers: ClassVar[dict[type[Event], Callable[..., Outcomes]]] = {}

    def __init_subclass__(cls) -> None:
        if "name" not in vars(cls):
            cls.name = cls.__module__.rpartition(".")[2].replace("_", "-")
        cls.handlers = {
            method.__globals__[annotation]: method
            for method in vars(cls).values()
            if isinstance(method, FunctionType) and (annotation := method.__annotations__.get("event"))
        }

    def __init__(self, target: Version = NEWEST) -> None:
        self.target = target

    def compare(self, facts: Facts) -> Outcomes:
        """Judge the facts of one kind and key, by rank."""
        raise NotImplementedError(f"{self.code} compares {self.compares!r} and does not say how")

    def found(
        self,
        at: Moment | Site,
        message: str,
        label: str,
        *because: tuple[Moment | Site, str],
        severity: Severity | None = None,
        fix: Fix | None = None,
        cause: Hashable | None = None,
    ) -> Finding:
        """A violation at ``at``; ``because`` are the other places of the story.

        ``cause`` is what one edit would mend, wherever it is met: the place that makes the wrong object or decides it.
        """
        first, *related = story((at, label), *because)
        return Finding(
            code=self.code,
            name=self.name,
            severity=severity or self.severity,
            message=message,
            primary=first,
            help=self.help,
            related=tuple(related),
            fix=fix,
            cause=None if cause is None else repr(cause),
        )

    def found_order(
        self,
        early: tuple[Moment, str],
        late: tuple[Moment, str],
        message: str,
        *,
        blame: Literal["early", "late"],
        fix: Fix | None = None,
        cause: Hashable | Literal["early"] | None = None,
        way: str = "",
    ) -> Finding:
        """A fault of order. The primary place is where the two call chains part.

        ``cause`` as in :meth:`found`; "early" is the statement of the early one where the chains part. ``way`` is said
        of the calls that lead from the primary place to what is blamed.
        """
        here, there = part(early[0], late[0])
        cause = here if cause == "early" else cause
        if blame == "late":
            here, there, early, late = there, here, late, early
        calls = early[0].chain[early[0].chain.index(here) + 1 : -1] if way else ()
        because: list[tuple[Moment | Site, str]] = [(call, way) for call in calls]
        because += [early, (there, late[1]), late]
        return self.found(here, message, early[1], *because, fix=fix, cause=cause)


def for_target(rules: Iterable[Rule], target: Version) -> list[Rule]:
    """The same rules, as they speak for one version of torch."""
    return [type(each)(target) for each in rules]


@record
class ModelKey:
    """A model in the verdict table: what it is, and where it is made or first sharded."""

    label: str
    site: Site


@record
class ProgramKey:
    """What belongs to no model stands under what was followed: a script, or code that no script was seen to call.

    What is seen in the syntax alone stands under its file.
    """

    kind: Literal["script", "part", "file"]
    path: str
    name: str


@dataclass(slots=True)
class Verdict:
    """What one analysis found out about one rule on one subject, and the programs in which it looked.

    ``judged``: where it holds, and in words what that rests on; a job comes to each place again and again.
    """

    code: str
    subject: object | None
    findings: list[Finding] = field(default_factory=list)
    judged: dict[Site, str] = field(default_factory=dict)
    unknown: dict[str, Site] = field(default_factory=dict)
    programs: dict[ProgramKey, None] = field(default_factory=dict)
    through: frozenset[tuple[str, int]] | None = None  # lines by which all came that the rule applies to

    def comes_by(self, lines: frozenset[tuple[str, int]]) -> None:
        self.through = lines if self.through is None else self.through & lines

    @property
    def word(self) -> Literal["violated", "upheld", "unknown"]:
        if self.findings:
            return "violated"
        return "unknown" if self.unknown or not self.judged else "upheld"


Incomplete = Callable[[Rule, Event], str]
"""Why more may have been done to what an event is about than the analysis saw; empty where nothing can have been."""


Doubtful = Callable[[Event], str]
"""Why what leads to an event may never be true of what is sharded; empty where nothing speaks against it."""


class Dispatcher:
    """Puts each event before every rule that subscribed, and keeps the verdicts.

    A rule that breaks is recorded in :attr:`broken` and the run goes on: a defect of one
    rule must not cost the findings of the others. ``incomplete`` is asked before a rule is called upheld: what was
    not seen of an object may violate any rule about it, wherever the handlers looked. ``doubtful`` is asked before a
    finding is kept: what leads to an event may never be true of what the finding is about.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        incomplete: Incomplete = lambda rule, event: "",
        doubtful: Doubtful = lambda event: "",
    ) -> None:
        self.verdicts: dict[tuple[str, object | None], Verdict] = {}
        self.broken: list[tuple[str, Exception]] = []
        self.incomplete = incomplete
        self.doubtful = doubtful
        self.program: ProgramKey | None = None  # in which the events happen, where there are several
        self._subscribed: dict[type[Event], list[tuple[Rule, Callable[..., Outcomes]]]] = {}
        for rule in rules:
            for event_type, method in rule.handlers.items():
                self._subscribed.setdefault(event_type, []).append((rule, method))

    def wants(self, kind: type[Event]) -> bool:
        """Does any rule ask for such events? What is expensive to find need not be looked for otherwise."""
        return kind in self._subscribed

    def dispatch(self, event: Event) -> tuple[list[Finding], list[Verdict]]:
        """Put an event before the rules; what they found in it, and the verdicts that it may have changed."""
        found: list[Finding] = []
        touched: list[Verdict] = []
        for rule, handler in self._subscribed.get(type(event), ()):
            verdict = self._verdict(rule, event)
            touched.append(verdict)
            try:
                self._judge(rule, handler, event, verdict, found)
            except CannotTell as why:
                verdict.unknown.setdefault(str(why), event.at)
            except Exception as error:  # a defect of one rule costs that rule only
                self.broken.append((rule.code, error))
                verdict.unknown.setdefault("this rule broke down here", event.at)
        return found, touched

    def _judge(
        self,
        rule: Rule,
        handler: Callable[..., Outcomes],
        event: Event,
        verdict: Verdict,
        found: list[Finding],
    ) -> None:
        applies, before = False, len(found)
        with listening() as used:
            for outcome in handler(rule, event):
                if isinstance(outcome, Finding):
                    if why := self.doubtful(event):
                        verdict.unknown.setdefault(why, event.at)
                        return
                    found.append(outcome)
                    if outcome not in verdict.findings:
                        verdict.findings.append(outcome)
                applies = applies or outcome is APPLIES
        if applies and self.program is not None:
            verdict.comes_by(frozenset((site.path, site.row) for site in event.when.chain))
        if len(found) > before:
            if why := self.incomplete(rule, event):  # a proof needs no closed world; what an edit leaves of it may
                verdict.unknown.setdefault(why, event.at)
        elif applies:
            if why := next(iter(used.incomplete), "") or self.incomplete(rule, event):
                verdict.unknown.setdefault(why, event.at)
            elif event.at not in verdict.judged:
                verdict.judged[event.at] = _because(used, event.at)

    def _verdict(self, rule: Rule, event: Event) -> Verdict:
        subject = getattr(event.subject, "model_key", event.subject) or self.program
        key = (rule.code, subject)
        if key not in self.verdicts:
            self.verdicts[key] = Verdict(rule.code, subject)
        if self.program is not None:
            self.verdicts[key].programs[self.program] = None
        return self.verdicts[key]


def _because(used: Used, at: Site) -> str:
    """What upholds a rule at a place, in words that do not repeat that place."""
    said = dict.fromkeys([in_words(used.closures), *(_seen(each, at) for each in used.evidence)])
    told = "; ".join(filter(None, said)) or "it is right as it is written here"  # nothing had to be asked
    return re.sub(rf"{re.escape(str(at))}(?!\d)", "this line", told) if str(at) in told else told


def _seen(evidence: object, at: Site) -> str:
    """The evidence of a yes in words, as far as it has any."""
    if not isinstance(evidence, (Place, Moment)):
        return evidence if isinstance(evidence, str) else ""
    when, words = (evidence.when, evidence.words) if isinstance(evidence, Place) else (evidence, "")
    if str(when.at) == str(at):
        return words or "what the rule asks for is seen here"
    return f"{words} ({when.at})" if words else f"seen at {when.at}"


def agree(rules: Iterable[Rule], facts: Facts) -> tuple[list[Finding], list[tuple[str, Exception]]]:
    """Put the facts of several ranks, of one kind and key, before the rules: findings, and rules that broke."""
    found: list[Finding] = []
    broken: list[tuple[str, Exception]] = []
    distinct = list({id(fact): fact for fact in facts.values()}.values())
    kinds = {fact.kind for fact in distinct}
    at_one = all(fact.values == distinct[0].values for fact in distinct)
    for rule in rules:
        if len(facts) < 2 or rule.compares not in kinds or at_one and not rule.each_its_own:
            continue
        try:
            found.extend(outcome for outcome in rule.compare(facts) if isinstance(outcome, Finding))
        except Exception as error:  # as in the dispatcher
            broken.append((rule.code, error))
    return found, broken
