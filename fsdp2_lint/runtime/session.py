"""One watched stretch of a job: what the hooks see goes before the dispatcher, and what it says into the report."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import torch

from .. import __version__
from ..catalogue import registry
from ..catalogue.codes import PREFIX
from ..errors import debugging
from ..files.source import Sources
from ..findings.suppress import partition
from ..report.codec import fact_as_json, finding_as_json, site_as_json
from ..report.rank_file import VERSION, RankFile, Unwritten
from ..vocab.events.base import Event
from ..vocab.facts import Fact
from ..vocab.finding import Finding, Moment, Observed
from ..vocab.rule import Dispatcher, ModelKey, Verdict, agree
from ..vocab.target import parse
from . import adapter
from .exchange import exchange
from .ledger import CudaUse, Ledger
from .patches import Patches, Place
from .sequence import Sequence

FACT_STEPS = 100
OnFinding = Literal["report", "raise"]
Hook = TypeVar("Hook", bound=Callable[..., Any])


class ContractViolation(RuntimeError):
    """A clause of FSDP2's contract is violated. :attr:`finding` says which and where."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"{finding.code} {finding.name} at {finding.primary.site}: {finding.message} ({finding.help})")
        self.finding = finding


@dataclass(frozen=True, slots=True)
class Options:
    """``steps``: optimizer steps to watch, 0 for all. ``stall_after``: seconds that ranks may wait; 0: for ever."""

    steps: int = 3
    on_finding: OnFinding = "report"
    select: tuple[str, ...] = (PREFIX,)
    ignore: tuple[str, ...] = ()
    stall_after: float = 10.0


class Session:
    """Hooks call :meth:`dispatch` and :meth:`state`. ``hot`` patches go after the watched steps, ``rare`` ones last."""

    def __init__(self, file: RankFile | None, options: Options, script: str = "") -> None:
        rules, self.selection = registry.select(registry.rules(), options.select, options.ignore)
        running = parse(torch.__version__)
        self.rules = registry.for_target((rule for rule in rules if "R" in rule.witnesses), running)
        self.options = options
        self.file = file or Unwritten()
        self.facts: list[Fact] = []
        self.announce: Callable[[Finding], None] = lambda finding: None
        self.closed: Callable[[], None] = lambda: None
        self.at_end: list[Callable[[], None]] = []  # what can only be judged when the job is over
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
        self._backwards = 0
        self._broken = 0
        self._busy = threading.local()  # a saver in the background must not hide what the training does meanwhile
        self._owner = os.getpid()
        self.file.write(
            "start",
            version=VERSION,
            tool=__version__,
            torch=torch.__version__,
            run=run_id(),
            rank=adapter.own_rank(),
            world_size=adapter.all_ranks(),
            pid=os.getpid(),
            script=script,
            steps=options.steps,
            select=list(options.select),
            ignore=list(options.ignore),
        )
        self.sequence = Sequence(self.file)
        for what, codes in adapter.missing():
            self.file.write("missing", what=what, codes=list(codes))

    # What hooks call.

    def quietly(self, hook: Hook) -> Hook:
        """A hook that can neither disturb the job nor watch itself: a defect in it is recorded, and no more."""

        @functools.wraps(hook)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            if getattr(self._busy, "inside", False) or os.getpid() != self._owner:
                return None
            self._busy.inside = True
            try:
                return hook(*args, **kwargs)
            except ContractViolation:
                raise
            except Exception as error:
                self.defect(hook.__qualname__, error)
                return None
            finally:
                self._busy.inside = False

        return guarded  # type: ignore[return-value]

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

    def state(self, fact: Fact) -> None:
        """Say something that the ranks compare, in the first steps: a job that is watched to its end says no more."""
        if self.step >= FACT_STEPS:
            return
        fact = replace(fact, step=self.step + 1)
        self.facts.append(fact)
        self.file.write("fact", **fact_as_json(fact))

    def compares(self, kind: str) -> bool:
        """Does a selected clause compare facts of this kind?"""
        return kind in self._kinds

    def agree_now(self, fact: Fact) -> None:
        """Compare a fact at once, while no rank waits for another yet."""
        if len(fact.ranks) < 2:
            return
        facts = exchange(fact, adapter.own_rank())
        if facts is None:
            self.file.write("not_compared", kind=fact.kind, key=fact.key)
            return
        findings, broken = agree(self.rules, facts)
        for code, error in broken:
            self.defect(code, error)
        for finding in findings:
            self._found(finding, "")

    def count_step(self, steps: int) -> None:
        """An optimizer has made so many steps. It is written down: the job may not come to its end."""
        if steps > self.step:
            self.step = steps
            self.file.write("step", steps=steps)

    def count_backward(self) -> int:
        """The how manieth backward of the job this is, from 1."""
        self._backwards += 1
        return self._backwards

    def finished(self, *, why: str) -> None:
        """No more steps are watched: what depends on them is judged, and their hooks go."""
        self.hot.remove()
        self.file.write("closed", why=why, steps=self.step)
        self.ledger.forget()
        self.closed()

    # What becomes of it.

    def _found(self, finding: Finding, fqn: str) -> None:
        if not self.selection.shows(finding) or finding.key in self.findings:
            return
        observed = Observed((adapter.own_rank(),), self.step + 1, fqn)
        finding = replace(finding, observed=observed)
        self.findings[finding.key] = finding
        self.file.write("finding", **finding_as_json(finding))
        if partition([finding], Sources())[1]:
            return  # a comment silences it: the report counts it, and nobody is disturbed
        self.announce(finding)
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


def run_id() -> str:
    """What the ranks of one job share, and two jobs do not."""
    names = ("TORCHELASTIC_RUN_ID", "MASTER_ADDR")
    return "/".join(os.environ.get(name, "") for name in names)
