"""Which gradients the last clipping before a step did not see."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.answers import Many, Unknown, many, unknown
from ....vocab.declared import record
from ....vocab.events.training import Unseen
from ....vocab.finding import Moment, Place
from ....vocab.live import Leftover
from ...domain import events
from ...domain.events import Step
from ..forward.execution_order import StaticKeeper
from ..forward.forward import Group, group_of
from ..forward.gathered import StaticUnsharded, since_backward, unsharded
from ..shared.program import OfStep
from ..shared.switches import RESHARD, SYNC, LeftOff, reductions

GATHERED = "is gathered: gathered parameters have no gradients, which are with the shards"
UNREDUCED = "has no gradients yet: the backward before it added them up without reducing them"


@record
class StaticLimited(OfStep[events.Stepped]):
    """A model as ``step`` finds it, whose gradients ``clip`` was to limit."""

    clip: Step[events.Clipped]

    def unseen(self) -> Many[Unseen]:
        found: list[Unseen] = []
        why = ""
        for answer in (self._unreduced(), self._kept(), *self._left()):
            if isinstance(answer, Unknown):
                why = why or answer.why
            elif isinstance(answer, Unseen):
                found.append(answer)
        nothing = self.program.nothing(self.obj, events.Clipped, events.Unshard, events.Called)
        return many(found, unknown(why) if why else nothing)

    def _unreduced(self) -> Unseen | Unknown | None:
        """Clipped after a backward that reduces nothing, and before the one that does."""
        backwards = list(self.program.trace.of(events.Backward))
        if not any(each.driven_before(self.clip) for each in backwards):
            return unknown("which backward pass left the gradients that it clips was not seen")
        ends = (each for each in reductions(self.program, self.obj) if self.clip.index < each.index < self.step.index)
        later = [each for each in ends if each.together(self.clip)]
        if not later:
            return None
        found, rest = LeftOff(self.program, self.clip, self.obj, SYNC).found()
        if not found:
            finished = next((each for each in later if isinstance(each.what, events.Finalized)), None)
            if finished is not None:
                return unknown(f"which gradients are reduced before {finished.when.at} is not known")
            return rest if isinstance(rest, Unknown) else None
        last = [each for each in backwards if each.driven_before(self.clip)][-1]
        return self._hidden(self.label, last.when, UNREDUCED)

    def _kept(self) -> Unseen | Unknown | None:
        """Clipped after a backward that leaves all groups gathered."""
        found, rest = LeftOff(self.program, self.clip, self.obj, RESHARD).found()
        backwards = (each.index for each in self.program.trace.of(events.Backward, before=self.clip))
        last = max(backwards, default=0)  # it leaves gathered again what was resharded before
        for each in self.program.trace.of(events.Reshard):
            if found and last < each.index < self.clip.index and self.program.touches(self.obj, each.subject):
                return unknown(f"which groups {each.when.at} reshards is not known")
        if found:
            return self._hidden(found[0][0], found[0][1].when, GATHERED)
        return rest if isinstance(rest, Unknown) else None

    def _left(self) -> Iterator[Unseen | Unknown]:
        """Clipped after an ``unshard()``, or a forward, that nothing has resharded by then."""
        for stale in (*self._unsharded(), *self._forwards()):
            for left in stale.items:
                yield self._hidden(left.label, left.gathered, GATHERED)
            if stale.incomplete:
                yield unknown(stale.incomplete)

    def _unsharded(self) -> Iterator[Many[Leftover]]:
        for each in unsharded(self.program, self.clip):
            if each.subject is not None and self.program.related(self.obj, each.subject):
                yield StaticUnsharded(self.program, each.subject, each, self.clip, self.clip).stale()

    def _forwards(self) -> Iterator[Many[Leftover]]:
        for each in self.program.trace.of(events.Called):
            if not each.what.hooked or not since_backward(self.program, each, self.clip):
                continue
            group = group_of(self.program, each.subject, each) if each.subject is not None else None
            if isinstance(group, Group) and each.subject is not None and group.is_root():
                if group.is_made_of(each.subject) and self.program.related(self.obj, each.subject):
                    yield StaticKeeper(self.program, each.subject, group, each, self.clip).stale()

    def _hidden(self, label: str, when: Moment, why: str) -> Unseen:
        return Unseen(label, self.clip.when, Place(when, why))
