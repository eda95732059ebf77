"""A step of the trace: when an event happens, to whom, and on which path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from astroid import nodes

from ....vocab.finding import Moment
from ..formulas import Formula
from ..path_conditions import PathCondition
from ..values import Obj
from .base import AsksRanks, Event, InLoops

What = TypeVar("What", bound=Event, covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class Step(Generic[What]):
    """One thing that happens: ``what``, and when, to whom, on which path."""

    what: What
    index: int
    when: Moment
    guard: PathCondition
    subject: Obj | None
    frames: tuple[int, ...] = ()  # the activations that were open, one for each site of ``when.chain``
    context: int = 0  # 0: the main flow; else the callback in which it happens, nobody knows when
    place: int = 0  # equal for steps of the same moment, which is expensive to compare
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
        return self.guard.in_one_case(other.guard)

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
