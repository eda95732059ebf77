"""Saves in the background: is their end waited for, and do they keep out of the training's way?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import Step
from ...domain.formulas import Formula, atoms, is_fork
from ...domain.path_conditions import PathCondition
from ...domain.values import NONE, Const, Obj, is_call
from ...frontend.names import names_in
from ...libraries.torch.checkpoints.async_saves import AWAITED, DROPPED, KEPT, OVERTAKEN
from ...libraries.torch.launch.device import device_kind
from ..shared.program import AtStep
from ..shared.runs import run_in

_Kept: TypeAlias = Step[events.FutureKept]
_FOLLOWED = "its future was followed to where it is waited for"


class StaticAsyncSave(AtStep[events.AsyncSave]):
    def dropped(self) -> Answer[Place]:
        if self.step.what.fate == DROPPED:
            return yes(Place(self.step.when, "nothing keeps the future that it returns"))
        if self.step.what.fate != KEPT:
            return self.program.excluded(_FOLLOWED)
        if any(_leads_to(self.step.guard, wait) for wait in self._waits(self.step.what.future)):
            return self.program.excluded(_FOLLOWED)
        return unknown("what becomes of the future was not followed")

    def overtaken(self) -> Answer[Place]:
        if self.step.what.fate == OVERTAKEN:
            return yes(Place(self.step.when))
        if self.step.what.fate != KEPT:
            return self.program.excluded(_FOLLOWED)
        if self.program.partial:
            return unknown("no script was seen that saves: when the next one comes is not known")
        pairs = list(self._pairs())
        if not self._kept or self.step.loops and not any(before.what.loop for before, _ in pairs):
            return unknown("what becomes of the future was not followed")
        answer: Answer[Place] = self.program.excluded(_FOLLOWED)
        for before, after in pairs:
            answer |= self._not_awaited(before, after)
        return answer

    def _pairs(self) -> Iterator[tuple[_Kept, _Kept]]:
        """This save and another one that the same attribute keeps, in order: an earlier round's, or a later one."""
        for mine in self._kept:
            for other in self.program.trace.of(events.FutureKept):
                if (other.what.owner, other.what.name) != (mine.what.owner, mine.what.name) or not other.together(mine):
                    continue
                if other.what.loop is None and other.index > mine.index:
                    yield mine, other
                elif other.what.loop in self.step.loops and other.index < mine.index:
                    yield other, mine

    def _not_awaited(self, before: _Kept, after: _Kept) -> Answer[Place]:
        """Does the later one of two saves start before somebody waited for the earlier one?"""
        path = before.guard.join(after.guard)
        waits = [wait for wait in self._waits(before.what.future) if before.index < wait.index < after.index]
        in_time = any(path is not None and _leads_to(path, wait) for wait in waits)
        if before.what.loop is not None:
            same_round = [wait for wait in self._waits(self.step.what.future) if before.what.loop in wait.loops]
            in_time = in_time or any(_leads_to(self.step.guard, wait) for wait in same_round)
            waits += same_round
        if in_time:
            return self.program.excluded(_FOLLOWED)
        only_if_done = bool(waits) and all(path is not None and _asks_whether_done(path, wait) for wait in waits)
        if not only_if_done and (waits or self._asked_for(before.what)):
            return unknown("whether its future is always waited for before the next save is not known")
        if why := self.program.escaped(before.what.owner):
            return unknown(why)
        return yes(Place(self.step.when if before.what.loop is not None else after.when))

    def _asked_for(self, earlier: events.FutureKept) -> bool:
        """May a later round come to what waits, though the first one does not: by a name in the loop, or elsewhere?"""
        if earlier.loop is None:
            return False
        if earlier.asked_by & names_in(earlier.loop):
            return True
        own = {method for cls in self.program.machine.project_classes(earlier.owner) for method in cls.node.body}
        run = run_in(self.program, earlier.loop)
        elsewhere = (each for each in run if each not in own and each is not earlier.loop.scope())
        return any(earlier.asked_by & names_in(each) for each in elsewhere)

    def _waits(self, future: Obj) -> list[Step[events.SaveAwaited]]:
        return [step for step in self.program.trace.of(events.SaveAwaited) if step.what.future is future]

    @property
    def _kept(self) -> list[_Kept]:
        return [step for step in self.program.trace.of(events.FutureKept) if step.what.future is self.step.what.future]

    def shares_group(self) -> Answer[Place]:
        """On a group of CPUs that the model, too, is sharded over."""
        if self.step.what.group != NONE or self.step.what.fate == AWAITED:
            return self.program.excluded("it has a group of its own, or is waited for at once")
        trace = self.program.trace
        group = next((step for step in trace.of(events.ProcessGroup) if step.what.backend == Const("gloo")), None)
        kinds = [device_kind(self.program.machine, step.what.device) for step in trace.of(events.Mesh)]
        if group is None or "other" not in kinds or set(kinds) != {"other"}:
            if "cuda" in kinds:
                return self.program.excluded("the model is sharded over GPUs, and the save goes over CPUs")
            return unknown("which process group the training uses is not known")
        for step in trace.of(events.Called, events.Backward):
            goes_on = step.index > self.step.index or bool(self.step.loops)
            if (
                not (isinstance(step.what, events.Called) and not step.what.hooked)
                and goes_on
                and step.together(self.step)
            ):
                return yes(Place(step.when, "the training goes on here"))
        return self.program.nowhere(events.Called, events.Backward)


def _undecided(path: PathCondition, wait: Step[events.SaveAwaited]) -> list[Formula]:
    """What a path does not say of the conditions of a wait. Ways out that those tell of as well are no question."""
    asked = (formula for formula, truth in wait.guard.literals if path.decide(formula) is not truth)
    return [formula for formula in asked if not (is_fork(formula) and wait.what.in_words)]


def _leads_to(path: PathCondition, wait: Step[events.SaveAwaited]) -> bool:
    return not _undecided(path, wait)


def _asks_whether_done(path: PathCondition, wait: Step[events.SaveAwaited]) -> bool:
    """Does it depend on nothing but ``future.done()`` whether it is waited for, and only if it is done?"""
    asked = {atom for formula in _undecided(path, wait) for atom in atoms(formula) if path.decide(atom) is None}
    slow: PathCondition | None = path
    for atom in asked:
        if slow is None or not _is_done(atom, wait.what.future):
            return False
        slow = slow.add(atom, False)
    return bool(asked) and slow is not None and not slow.compatible(wait.guard)


def _is_done(atom: Formula, future: Obj) -> bool:
    asked = atom[1] if atom[0] == "truth" else None
    return isinstance(asked, Obj) and asked.parent is future and is_call(asked.item) and asked.item[1] == "done"
