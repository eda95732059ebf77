"""How far one call is followed: recursion, and calls that take more steps than they are worth."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...budget import BUDGET
from ...domain.path_conditions import Pool
from ...domain.values import ClassV, DictV, Func, ListV, Obj, StateDict, StateTensor, TupleV, Value, unknown
from ..call import Call
from ..frames import CallTooLong, Frame, Taken, is_model
from ..machine import L
from .managers import Managers

_HOLDERS = (DictV, ListV, TupleV, StateDict, StateTensor)
_REGROUP = frozenset({"param_groups", "add_param_group"})


class Bounds(Managers[L]):
    def repeats(self, func: Func, handed: list[Value]) -> bool:
        """Does a call that runs already have all of these in its hands? A recursive one does the same to them again."""
        running = [frame for frame in self.frames if frame.func is not None and frame.func.node is func.node]
        mine = {*self.libraries.changeable(handed)} if running else set()
        return any(mine.issubset(self.libraries.changeable(frame.given)) for frame in running)

    def allowed_depth(self, args: list[Value]) -> int:
        """Recursion over the parts of a known model, a state dict in containers, or what derives from a class, ends."""
        known = any(isinstance(value, (*_HOLDERS, ClassV)) or is_model(value) for value in args)
        return BUDGET.model_recursion if known else BUDGET.recursion

    def limited(self, func: Func, call: Call, receiver: Value | None, run: Callable[[], Value]) -> Value:
        """Run a call; one that takes too long becomes code that was not seen.

        Side matters are cut, so that a program that spends its steps on them still gets to
        the point; what can lead to a sharding call is bounded by its own statements only.
        """
        outer, began = (self.call_limit, self.paths_limit), (self.steps, Pool.tried)
        aside = not self.may_shard(func)
        if aside:
            times = BUDGET.of_models if is_model(receiver) else 1
            most = BUDGET.call_steps * times
            handed = [*call.all, *([receiver] if receiver is not None else [])]
            if self.libraries.any_sharded and self.trains(handed):
                most = max(most, int((self.max_steps - self.steps) * BUDGET.training_share))
            else:
                left = BUDGET.call_paths * times - self.paths_spent.get(func.node, 0)
                self.paths_limit = _ends_at(began[1], left, outer[1])
            self.call_limit = _ends_at(began[0], most - self.spent.get(func.node, 0), outer[0])
        mark, born = self.store.mark(), self.fresh()
        loops, context, inside = self.loops, self.context, len(self.libraries.inside)
        try:
            return run()
        except CallTooLong:
            self.store.undo(mark, 0)
            self.unfinished.update(range(born, self.fresh()))
            self.loops, self.context = loops, context
            del self.libraries.inside[inside:]
            self.blur(func, [*call.all, *([receiver] if receiver is not None else [])])
            if aside and func.name == "__init__" and isinstance(receiver, Obj):
                receiver.atom.filled_before = True  # unseen parts, but nobody else has it yet
                receiver = None
            self.cut(func, call, receiver, aside)
            result = unknown(f"{func.name}()", kind="opaque")
            result.atom.cut = True
            return result
        finally:
            self.call_limit, self.paths_limit = outer
            self.spent[func.node] = self.spent.get(func.node, 0) + self.steps - began[0]
            self.paths_spent[func.node] = self.paths_spent.get(func.node, 0) + Pool.tried - began[1]

    def ends_call(self, frame: Frame, taken: Taken) -> None:
        """The function has taken its own share; what the program is about may take several."""
        several = BUDGET.of_models
        enough = taken.steps > BUDGET.own_steps * several or taken.conditions > BUDGET.own_conditions * several
        if enough or not self.is_the_point(frame):
            raise CallTooLong

    def is_the_point(self, frame: Frame) -> bool:
        """Does a method of a model run in it, code that may shard, or what trains what is sharded?"""
        func = frame.func
        if func is None or is_model(frame.receiver) or self.may_shard(func):
            return True
        if frame.trains is None and self.libraries.any_sharded:
            frame.trains = self.trains(frame.given)
        return bool(frame.trains)

    def may_shard(self, func: Func) -> bool:
        return self.project.may_shard(func.module.path, func.node, func.owner.name if func.owner else "")

    def trains(self, given: Iterable[Value]) -> bool:
        """Is there a model, an optimizer or a loader among these, or something that holds one, such as a trainer?"""
        return any(self.matters(leaf, 0, code=False) for value in given for leaf in self.inside(value))

    def cut(self, func: Func, call: Call, receiver: Value | None, aside: bool) -> None:
        """What a call that was not followed to its end may have changed.

        What lies ``aside`` reaches no sharding call; without unknown code in it, it can but exchange an optimizer's
        parameters.
        """
        who = f"{func.name}(), which takes too long to follow,"
        relevance = self.project.relevance
        names = relevance.mentioned(func.module, func.node) if aside else None
        if names is not None and not names & _REGROUP and relevance.stays_inside(func.module, func.node):
            self.libraries.not_followed(who, call)
            self.libraries.overlooked(who, call.node)
        else:
            self.libraries.havoc(who, call, receiver, names)


def _ends_at(now: int, left: int, outer: int | None) -> int:
    """Where a call has taken what is left to it, or its share of what is left to its caller."""
    left = max(left, BUDGET.short_call)
    return now + (left if outer is None else min(left, int((outer - now) * BUDGET.call_share)))
