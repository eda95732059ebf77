"""The trace: what one entry of the program does, in order, each step with its path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ..vocab.answers import CannotTell
from ..vocab.finding import Moment
from .budget import BUDGET
from .events import AsksRanks, Event, InLoops
from .formulas import Formula
from .guards import Guard
from .values import Obj

if TYPE_CHECKING:
    from astroid import nodes

What = TypeVar("What", bound=Event, covariant=True)
E = TypeVar("E", bound=Event)
F = TypeVar("F", bound=Event)
G = TypeVar("G", bound=Event)


@dataclass(frozen=True, slots=True, eq=False)
class Step(Generic[What]):
    """One thing that happens: ``what``, and when, to whom, on which path."""

    what: What
    index: int
    when: Moment
    guard: Guard
    subject: Obj | None
    frames: tuple[int, ...] = ()  # the activations that were open, one for each site of ``when.chain``
    context: int = 0  # 0: the main flow; else the callback in which it happens, nobody knows when
    place: int = 0  # equal for steps of the same moment, which is dear to compare
    kept_asked: Mapping[Formula, Moment] = field(default_factory=dict)
    kept_loops: tuple[nodes.NodeNG, ...] = ()

    @property
    def asked(self: Step[AsksRanks]) -> Mapping[Formula, Moment]:
        """Where the conditions on ranks that hold here were last asked."""
        return self.kept_asked

    @property
    def loops(self: Step[InLoops]) -> tuple[nodes.NodeNG, ...]:
        """The loops in which this lies, here and in the callers; the outermost first."""
        return self.kept_loops

    def together(self, other: AnyStep) -> bool:
        """Can both surely happen in one run? Not where each stands under a condition of its own that was too large."""
        mine, theirs = self.guard.blurred, other.guard.blurred
        if mine - theirs and theirs - mine or (mine or theirs) and self.same_call(other):
            return False
        return self.guard.compatible(other.guard)

    def same_call(self, other: AnyStep) -> bool:
        """Do both come from one call expression, that was evaluated for several callees or elements?"""
        for depth, (mine, theirs) in enumerate(zip(self.frames, other.frames)):
            if mine != theirs:
                return depth > 0 and self.when.chain[depth - 1] == other.when.chain[depth - 1]
        depth = min(len(self.frames), len(other.frames))  # one of them may be that call itself
        return len(self.frames) != len(other.frames) and self.when.chain[depth - 1] == other.when.chain[depth - 1]

    def driven_before(self, other: AnyStep) -> bool:
        """As ``precedes``, but methods of a driven class may follow each other as they were driven."""
        return self.precedes(other) or (
            self.index < other.index
            and self.context in (0, other.context)
            and self.guard.undriven.compatible(other.guard.undriven)
        )

    def precedes(self, other: AnyStep) -> bool:
        """Does this surely happen before ``other``, in runs that have both?"""
        return self.index < other.index and self.context in (0, other.context) and self.together(other)


AnyStep = Step[Event]


@dataclass(slots=True)
class Trace:
    steps: list[AnyStep] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)  # what was not understood, in words
    _kinds: dict[type[Event], list[Step[Any]]] = field(default_factory=dict)
    _places: dict[Moment, int] = field(default_factory=dict)
    looked_at: int = 0  # steps, by all questions that were asked of the trace
    _allowed: int | None = None

    def add(
        self,
        what: E,
        when: Moment,
        guard: Guard,
        subject: Obj | None,
        *,
        frames: tuple[int, ...],
        context: int,
        asked: Mapping[Formula, Moment],
        loops: tuple[nodes.NodeNG, ...],
    ) -> Step[E]:
        place = self._places.setdefault(when, len(self._places))
        step = Step(what, len(self.steps), when, guard, subject, frames, context, place, asked, loops)
        self.steps.append(step)
        self._kinds.setdefault(type(what), []).append(step)
        return step

    def put(self, step: AnyStep) -> None:
        """In the place of what is known of it so far."""
        same = self._kinds[type(step.what)]
        same[same.index(self.steps[step.index])] = step
        self.steps[step.index] = step

    @overload
    def of(
        self, kind: type[E], /, *, before: AnyStep | None = None, after: AnyStep | None = None
    ) -> Iterator[Step[E]]: ...
    @overload
    def of(
        self, one: type[E], other: type[F], /, *, before: AnyStep | None = None, after: AnyStep | None = None
    ) -> Iterator[Step[E | F]]: ...
    @overload
    def of(
        self,
        one: type[E],
        two: type[F],
        three: type[G],
        /,
        *,
        before: AnyStep | None = None,
        after: AnyStep | None = None,
    ) -> Iterator[Step[E | F | G]]: ...
    @overload
    def of(
        self, *kinds: type[Event], before: AnyStep | None = None, after: AnyStep | None = None
    ) -> Iterator[AnyStep]: ...
    def of(self, *kinds: type[Event], before: AnyStep | None = None, after: AnyStep | None = None) -> Iterator[AnyStep]:
        """Steps of these kinds in order; with ``before``/``after`` only those surely before or after."""
        for kind in kinds:
            same = self._kinds.get(kind, ())
            self.look(len(same))
            for step in same:
                if before is not None and not step.precedes(before):
                    continue
                if after is not None and not after.precedes(step):
                    continue
                yield step

    @contextmanager
    def bounded(self, steps: int) -> Iterator[None]:
        """Inside, questions may look at so many steps; then each of them is unknown."""
        self._allowed = self.looked_at + steps
        try:
            yield
        finally:
            self._allowed = None

    def look(self, steps: int = 1) -> None:
        self.looked_at += steps
        if self._allowed is not None and self.looked_at > self._allowed:
            raise CannotTell(f"judging it took more than {BUDGET.judging} looks at what happens")

    def count(self, kind: type[Event]) -> int:
        return len(self._kinds.get(kind, ()))

    def __len__(self) -> int:
        return len(self.steps)
