"""The trace: what one entry of the program does, in order, each step with its path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

from astroid import nodes

from ...vocab.answers import CannotTell
from ...vocab.finding import Moment
from ..budget import BUDGET
from .events import AnyStep, Event, Step
from .formulas import Formula
from .path_conditions import PathCondition, Pool
from .values import Obj

E = TypeVar("E", bound=Event)
F = TypeVar("F", bound=Event)
G = TypeVar("G", bound=Event)
PAUSE = 4096  # steps that questions look at before somebody is asked whether to go on


@dataclass(slots=True)
class Trace:
    steps: list[AnyStep] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)  # what was not understood, in words
    _kinds: dict[type[Event], list[Step[Any]]] = field(default_factory=dict)
    _places: dict[Moment, int] = field(default_factory=dict)
    looked_at: int = 0  # steps, by all questions that were asked of the trace
    _allowed: int | None = None
    _next: int | None = None  # what comes first: the end of what is allowed, or a pause
    _pause: Callable[[], None] = lambda: None

    def add(
        self,
        what: E,
        when: Moment,
        guard: PathCondition,
        subject: Obj | None,
        *,
        frames: tuple[int, ...],
        context: int,
        asked: Mapping[Formula, Moment],
        loops: tuple[nodes.NodeNG, ...],
    ) -> Step[E]:
        """A step behind all others."""
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

    def latest(self, kind: type[E], *, before: AnyStep) -> Iterator[Step[E]]:
        """Those surely before a step, the last one first: who wants that one need not have all of them compared."""
        for step in reversed(self._kinds.get(kind, ())):
            self.look()
            if step.precedes(before):
                yield step

    @contextmanager
    def bounded(self, steps: int, pause: Callable[[], None]) -> Iterator[None]:
        """Inside, questions may look at so many steps; then each of them is unknown. ``pause`` is called again and
        again meanwhile, and may raise."""
        self._allowed, self._pause = self.looked_at + steps, pause
        self._next = min(self.looked_at + PAUSE, self._allowed)
        try:
            yield
        finally:
            self._allowed = self._next = None

    def look(self, steps: int = 1) -> None:
        self.looked_at += steps + Pool.weighed
        Pool.weighed = 0
        if self._next is not None and self.looked_at > self._next:
            self._halt()

    def _halt(self) -> None:
        assert self._allowed is not None
        self._next = min(self.looked_at + PAUSE, self._allowed)
        self._pause()
        if self.looked_at > self._allowed:
            raise CannotTell(f"judging it took more than {BUDGET.judging} looks at what happens")

    def count(self, kind: type[Event]) -> int:
        return len(self._kinds.get(kind, ()))

    def __len__(self) -> int:
        return len(self.steps)
