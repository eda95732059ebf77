"""The trace: what one entry of the program does, in order, each step with its path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..vocab.answers import CannotTell
from ..vocab.finding import Moment
from .budget import BUDGET
from .guards import Guard
from .values import Obj


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One thing that happens. ``detail`` depends on ``kind`` (see ``torch_model``)."""

    kind: str
    index: int
    when: Moment
    guard: Guard
    subject: Obj | None
    detail: dict[str, Any]
    frames: tuple[int, ...] = ()  # the activations that were open, one for each site of ``when.chain``
    context: int = 0  # 0: the main flow; else the callback in which it happens, nobody knows when
    place: int = 0  # equal for steps of the same moment, which is dear to compare

    def __getitem__(self, name: str) -> Any:
        return self.detail[name]

    def together(self, other: Step) -> bool:
        """Can both surely happen in one run? Not where each stands under a condition of its own that was too large."""
        mine, theirs = self.guard.blurred, other.guard.blurred
        if mine - theirs and theirs - mine or (mine or theirs) and self.same_call(other):
            return False
        return self.guard.compatible(other.guard)

    def same_call(self, other: Step) -> bool:
        """Do both come from one call expression, that was evaluated for several callees or elements?"""
        for depth, (mine, theirs) in enumerate(zip(self.frames, other.frames)):
            if mine != theirs:
                return depth > 0 and self.when.chain[depth - 1] == other.when.chain[depth - 1]
        depth = min(len(self.frames), len(other.frames))  # one of them may be that call itself
        return len(self.frames) != len(other.frames) and self.when.chain[depth - 1] == other.when.chain[depth - 1]

    def driven_before(self, other: Step) -> bool:
        """As ``precedes``, but methods of a driven class may follow each other as they were driven."""
        return self.precedes(other) or (
            self.index < other.index
            and self.context in (0, other.context)
            and self.guard.undriven.compatible(other.guard.undriven)
        )

    def precedes(self, other: Step) -> bool:
        """Does this surely happen before ``other``, in runs that have both?"""
        return self.index < other.index and self.context in (0, other.context) and self.together(other)


@dataclass(slots=True)
class Trace:
    steps: list[Step] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)  # what was not understood, in words
    _kinds: dict[str, list[Step]] = field(default_factory=dict)
    _places: dict[Moment, int] = field(default_factory=dict)
    looked_at: int = 0  # steps, by all questions that were asked of the trace
    _allowed: int | None = None

    def add(
        self,
        kind: str,
        when: Moment,
        guard: Guard,
        subject: Obj | None,
        detail: dict[str, Any],
        *,
        frames: tuple[int, ...],
        context: int,
    ) -> Step:
        place = self._places.setdefault(when, len(self._places))
        step = Step(kind, len(self.steps), when, guard, subject, detail, frames, context, place)
        self.steps.append(step)
        self._kinds.setdefault(kind, []).append(step)
        return step

    def put(self, step: Step) -> None:
        """In the place of what is known of it so far."""
        same = self._kinds[step.kind]
        same[same.index(self.steps[step.index])] = step
        self.steps[step.index] = step

    def of(self, *kinds: str, before: Step | None = None, after: Step | None = None) -> Iterator[Step]:
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

    def count(self, kind: str) -> int:
        return len(self._kinds.get(kind, ()))

    def __len__(self) -> int:
        return len(self.steps)
