"""One watched stretch of a job: what the hooks see goes before the dispatcher, and what it says into the report."""

from __future__ import annotations

import functools
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import torch

from .. import __version__
from ..catalogue import registry
from ..catalogue.codes import PREFIX
from ..errors import debugging
from ..files.source import Sources
from ..findings.suppress import partition
from ..report.codec import digest_of, fact_as_json, fact_in_short, finding_as_json, site_as_json
from ..report.folders import agent_id, attempt, job_id, launch_id
from ..report.rank_file import VERSION, RankFile, Unwritten
from ..vocab.events.base import Event
from ..vocab.facts import Fact
from ..vocab.finding import Finding, Moment, Observed
from ..vocab.rule import Dispatcher, ModelKey, Verdict, agree, for_target
from ..vocab.target import Version, parse
from . import adapter
from .agreement.exchange import Meeting, meet
from .agreement.sequence import Sequence
from .launch.origin import users_files
from .ledger import CudaUse, Ledger
from .patches import Patches, Place

FACT_STEPS = 100
OnFinding = Literal["report", "raise"]
Hook = TypeVar("Hook", bound=Callable[..., Any])
Announce = Callable[[Finding], None]


class ContractViolation(RuntimeError):
    """A rule of FSDP2's contract is violated. :attr:`finding` says which and where."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"{finding.code} {finding.name} at {finding.primary.site}: {finding.message} ({finding.help})")
        self.finding = finding


@dataclass(frozen=True, slots=True)
class Options:
    """``steps``: optimizer steps to watch, 0 for all. ``stall_after``: seconds that ranks may wait; 0: for ever.

    ``watch``: follow the collectives of the ranks to the end of the job. ``analysis``: R is a job, P its rehearsal.
    ``target``: the torch that the rules speak for; None: the one that runs.
    """

    steps: int = 3
    on_finding: OnFinding = "report"
    select: tuple[str, ...] = (PREFIX,)
    ignore: tuple[str, ...] = ()
    stall_after: float = 10.0
    watch: bool = True
    analysis: Literal["R", "P"] = "R"
    target: Version | None = None


class Session:
    """Hooks call :meth:`dispatch` and :meth:`state`. ``hot`` patches go after the watched steps, ``rare`` ones last."""

    def __init__(self, file: RankFile | None, options: Options, about: Mapping[str, object] = {}) -> None:
        rules, self.selection = registry.select(registry.rules(), options.select, options.ignore)
        target = options.target or parse(torch.__version__)
        self.rules = for_target((rule for rule in rules if options.analysis in rule.judged_by), target)
        self.options = options
        self.file = file or Unwritten()
        self.facts: list[Fact] = []
        self.announce: Announce = _say_nothing
        self.announce_for_all: Announce = _say_nothing  # what ranks differ in, which one of them says
        self.closed: Callable[[], None] = lambda: None
        self.disagree: Callable[[list[tuple[int, Fact]]], None] = lambda said: None  # ranks of two machines do
        self.at_end: list[Callable[[], None]] = []  # what can only be judged when the job is over
        self.cut_off = False  # it did not come to its end: what it has not done, it may have been about to do
        self.dispatcher = Dispatcher(self.rules)
        self.ledger = Ledger()
        self.hot, self.rare = Patches(), Patches()
        self.cuda = CudaUse()
        self.launched: Moment | None = None  # where the default process group was made
        self.step = 0  # finished training steps
        self.compiles = False  # does the job use torch.compile?
        self.findings: dict[tuple[str, str, int], Finding] = {}
        self._verdicts: dict[int, str] = {}
        self._kinds = {rule.compares for rule in self.rules if rule.compares}
        self._lacks: set[str] = set()
        self._backwards = 0
        self._broken = 0
        self._busy = threading.local()  # a saver in the background must not hide what the training does meanwhile
        self._owner = os.getpid()
        self._files: set[str] = set()
        self._start(about)
        self.joined()
        self.sequence = Sequence(self.file)
        self.lacks(*adapter.missing())

    def _start(self, about: Mapping[str, object]) -> None:
        """What the environment says: a process group may know better, and says so in a record of its own."""
        rank, world_size = adapter.claimed()
        self.file.write(
            "start",
            version=VERSION,
            tool=__version__,
            torch=torch.__version__,
            run=job_id(),
            launch=launch_id(),
            time=time.time(),
            host=socket.gethostname(),
            pid=os.getpid(),
            agent=agent_id(),
            rank=rank,
            world_size=world_size,
            attempt=attempt(),
            steps=self.options.steps,
            select=list(self.options.select),
            ignore=list(self.options.ignore),
            watch=self.options.watch,
            **about,
        )

    def joined(self) -> None:
        """The default process group has been made, if there is one: from now on it says which rank this is."""
        if (told := adapter.membership()) is not None:
            self.file.write("joined", rank=told.rank, world_size=told.world_size, token=told.token, time=time.time())

    def lacks(self, *places: tuple[str, tuple[str, ...]]) -> None:
        """Places that this torch does not have: the rules that need them are not upheld by anything."""
        for what, codes in places:
            if what not in self._lacks:
                self._lacks.add(what)
                self.file.write("missing", what=what, codes=list(codes))

    # What hooks call.

    def quietly(self, hook: Hook) -> Hook:
        """A hook that can neither disturb the job nor watch itself: a defect in it is recorded, and no more."""

        @functools.wraps(hook)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            if self.is_looking() or os.getpid() != self._owner:
                return None
            self._busy.inside = True
            try:
                return hook(*args, **kwargs)
            except ContractViolation:
                raise
            except adapter.Missing as lack:
                self.lacks((str(lack.place), lack.place.rules))
                return None
            except Exception as error:
                self.defect(hook.__qualname__, error)
                return None
            finally:
                self._busy.inside = False

        return guarded  # type: ignore[return-value]

    def is_looking(self) -> bool:
        """Does a hook of this thread run?"""
        return getattr(self._busy, "inside", False)

    def watch(self, places: Place | list[Place], *, rare: bool = False, **hooks: Hook) -> None:
        """As :meth:`Patches.watch`, quietly."""
        (self.rare if rare else self.hot).watch(places, **{when: self.quietly(hook) for when, hook in hooks.items()})

    def watch_fsdp2(self, hook: str, *, rare: bool = False, **hooks: Hook) -> None:
        """The same for a place of FSDP2 itself, as far as this torch has it."""
        if place := adapter.place(hook):
            self.watch(place, rare=rare, **hooks)

    def dispatch(self, event: Event, fqn: str = "") -> None:
        findings, verdicts = self.dispatcher.dispatch(event)
        for code, error in self.dispatcher.broken:
            self.defect(code, error)
        self.dispatcher.broken.clear()
        for finding in findings:
            self._found(finding, fqn)
        self._stream(verdicts)

    def tell(self, finding: Finding) -> None:
        """A finding that no event shows, such as what an error of torch's means."""
        self._found(finding, "")

    def state(self, fact: Fact) -> None:
        """Say something that the ranks compare, in the first steps. What has a step of its own is said whenever."""
        self._state(fact, fact_as_json)

    def _state(self, fact: Fact, as_json: Callable[[Fact], dict[str, Any]]) -> None:
        if fact.step is None and self.step >= FACT_STEPS:
            return
        fact = replace(fact, step=fact.step or self.step + 1)
        self.facts.append(fact)
        self.file.write("fact", **as_json(fact))

    def compares(self, kind: str) -> bool:
        """Does a selected rule compare facts of this kind?"""
        return kind in self._kinds

    def judges(self, code: str) -> bool:
        """Is this rule among those that are judged here?"""
        return any(rule.code == code for rule in self.rules)

    def agree_now(self, fact: Fact) -> None:
        """State a fact, and compare it at once, while no rank waits for another yet.

        Who says what the first rank said writes no more than that: thousands of ranks have one plan.
        """
        if len(fact.ranks) < 2 or adapter.rehearsal_token():  # nobody else is there
            self.state(fact)
            return
        met = meet(fact, adapter.own_rank())
        same = met is not None and not met.facts and met.first != adapter.own_rank()
        self._state(fact, fact_in_short if same else _in_full)
        if met is None:
            self.file.write("not_compared", kind=fact.kind, key=fact.key)
        elif met.facts:
            self._disagreed(met)

    def _disagreed(self, met: Meeting) -> None:
        findings, broken = agree(self.rules, met.facts)
        for code, error in broken:
            self.defect(code, error)
        for finding in findings:
            if met.speaks:
                self.file.write("said", key=list(finding.key))
            self._found(finding, "", self.announce_for_all if met.speaks else _say_nothing)

    def count_step(self, steps: int) -> None:
        """An optimizer has made so many steps. It is written down: the job may not come to its end."""
        if steps > self.step:
            self.step = steps
            self.file.write("step", steps=steps)

    def count_backward(self) -> int:
        """The how manieth backward of the job this is, from 1."""
        self._backwards += 1
        return self._backwards

    def tell_files(self) -> None:
        """Which files of the user were loaded by now, as far as that was not told yet. One rank speaks for all."""
        if adapter.own_rank() == 0 and (new := users_files() - self._files):
            self._files |= new
            self.file.write("files", paths=sorted(new))

    def finished(self, *, why: str) -> None:
        """No more steps are watched: what depends on them is judged, and their hooks go."""
        self.hot.remove()
        self.tell_files()
        self.file.write("closed", why=why, steps=self.step)
        self.ledger.forget()
        self.closed()

    # What becomes of it.

    def _found(self, finding: Finding, fqn: str, announce: Announce | None = None) -> None:
        if not self.selection.shows(finding) or finding.key in self.findings:
            return
        observed = Observed((adapter.own_rank(),), self.step + 1, fqn)
        finding = replace(finding, observed=observed)
        self.findings[finding.key] = finding
        self.file.write("finding", **finding_as_json(finding))
        if partition([finding], Sources())[1]:
            return  # a comment silences it: the report counts it, and nobody is disturbed
        (announce or self.announce)(finding)
        if self.options.on_finding == "raise" and finding.severity.value == "error":
            raise ContractViolation(finding)

    def _stream(self, verdicts: Iterable[Verdict]) -> None:
        """A verdict is written whenever it changes: the job may die before it could write a last word."""
        for verdict in verdicts:
            told = bool(verdict.findings or verdict.judged or verdict.unknown)
            if told and self._verdicts.get(id(verdict)) != verdict.word:
                self._verdicts[id(verdict)] = verdict.word
                self._write_verdict(verdict)

    def _write_verdict(self, verdict: Verdict) -> None:
        subject = verdict.subject
        model = {"model": subject.label, "at": site_as_json(subject.site)} if isinstance(subject, ModelKey) else {}
        reasons = list(verdict.unknown) if verdict.word == "unknown" else []
        sites = [*verdict.judged, *verdict.unknown.values()][:1]
        self.file.write(
            "verdict",
            code=verdict.code,
            word=verdict.word,
            reasons=reasons,
            judged=[site_as_json(site) for site in sites],
            **model,
        )

    def defect(self, where: str, error: Exception) -> None:
        if debugging():
            sys.excepthook(type(error), error, error.__traceback__)
        self._broken += 1
        if self._broken <= 20:
            self.file.write("defect", where=where, error=f"{type(error).__name__}: {error}")


def _say_nothing(finding: Finding) -> None:
    pass


def _in_full(fact: Fact) -> dict[str, Any]:
    """With the digest by which other ranks say that theirs is the same."""
    return {**fact_as_json(fact), "digest": digest_of(fact)}
