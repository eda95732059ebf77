"""Windows of micro-batches that are given up: gradients that were not reduced, and are cleared where they are not."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.answers import Answer, Many, many, unknown, yes
from ....vocab.behaviour import RESET_CLEARS_PARTIAL_SUMS, RESET_CLEARS_SUMS, Behaviour
from ....vocab.declared import record
from ....vocab.events.training import Carried
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.formulas import Formula, is_fork
from ...domain.relations import Relation
from ...domain.values import Obj, is_call
from ..sharding.options import in_replicas
from ..shared.conditions import objects_in
from ..shared.loops import ends_behind
from ..shared.objects import RELATED
from ..shared.program import OfStep, Program
from ..shared.switches import (
    ALL_REDUCE,
    SYNC,
    LeftOff,
    Switch,
    ask_for_a_length,
    in_order,
    leaves_parts_off,
    name_of,
    shared_loop,
    switched,
    switched_elsewhere,
    trained_by,
    varies,
)

_MADE = ("torch.tensor", "torch.as_tensor", "torch.distributed.", "torch.cuda.", "torch.arange")


@record
class StaticWindow(OfStep[events.Zeroed]):
    """A model whose gradients ``step`` clears, between the backward ``early`` and the next one, ``late``."""

    early: Step[events.Backward]
    late: Step[events.Backward]

    def carried_over(self) -> Many[Carried]:
        """Unknown where the order of rounds decides, or a condition that the switch does not share."""
        program, switches = self.program, self._switches()
        nothing = program.nothing(self.obj, events.Sync, events.BackwardSwitched, events.Backward)
        if not switches:
            return many((), nothing)
        if len({name_of(each) for each, _ in switches}) > 1:
            return many((), unknown("which of the two switches decides is not known"))
        given_up = self._given_up(switches[-1][0])
        if (used := self._used_before()) and given_up is not None:
            if used.guard.undriven.compatible(given_up.guard.undriven):
                why = (
                    f"whether the step of {used.when.at} is made where {given_up.when.at} leaves the loop is not known"
                )
                return many((), unknown(why))
        elif used and self._is_last():
            found, rest = LeftOff(program, used, self.obj, name_of(switches[-1][0])).found()
            left = f"whether {found[0][1].when.at} leaves any of them to the step is not known" if found else ""
            if why := left or rest.why or self._cut_short(used):
                return many((), unknown(why))
            return many((), program.excluded(f"the step at {used.when.at} uses them before"))
        last, relation = switches[-1]
        if last.what.on is True or self.step.guard.undriven.add(last.what.on, False) is None:
            on = program.excluded(f"{last.when.at} has synchronisation on for the backward before")
            return many((), in_order(program, (each for each, _ in switches), on))
        if relation not in RELATED:
            return many((), unknown(f"which groups {last.when.at} switches is not known"))
        if name_of(last) == ALL_REDUCE and not in_replicas(program, self.obj).surely:
            return many((), unknown("whether the mesh has replicas is not known"))
        if not self._is_last():
            return many((), unknown(f"whether a window ends with the backward of {self.early.when.at} is not known"))
        if why := self._undecided(last) or self._helped() or program.managed(self.obj):
            return many((), unknown(why))
        if why := switched_elsewhere(program, self.obj, last, self.late, name_of(last)):
            return many((), unknown(why))
        return many([Carried(self.label, self.early.when, self.step.when)], nothing)

    def _is_last(self) -> bool:
        """Does no other backward come after it in the same run, where it is the last before the clearing?"""
        own = (
            each for each in self.program.trace.of(events.Backward, after=self.early) if each.index < self.step.index
        )
        return not any(each.loops == self.early.loops and each.together(self.early) for each in own)

    def _given_up(self, switch: Switch) -> Step[events.LoopLeft] | None:
        """Where the loop of the backward is left, and nothing reduces its gradients before they are cleared."""
        for each in self.program.trace.of(events.LoopLeft, after=self.early):
            of_window = self.early.loops and self.early.loops[-1] in each.what.loops
            if of_window and each.driven_before(self.step) and self._stays_off(switch, each):
                return each
        return None

    def _stays_off(self, switch: Switch, left: Step[events.LoopLeft]) -> bool:
        """Is there no other backward between a way out and the clearing, and may the switch be off there?"""
        if switch.what.on is True or left.guard.undriven.add(switch.what.on, False) is None:
            return False
        return not any(
            left.index < each.index < self.step.index and left.guard.undriven.compatible(each.guard.undriven)
            for each in self.program.trace.of(events.Backward)
        )

    def reset_by(self) -> Answer[Behaviour]:
        if next(self.program.trace.of(events.StepGivenUp), None) is None:
            return self.program.nowhere(events.StepGivenUp)
        partial = any(name_of(each) == ALL_REDUCE for each, _ in self._switches())
        return yes(RESET_CLEARS_PARTIAL_SUMS if partial else RESET_CLEARS_SUMS)

    def reset_in_time(self) -> Answer[Place]:
        given_up = next(self.program.trace.of(events.StepGivenUp), None)
        assert given_up is not None  # asked where there is one
        return unknown(f"whether reset_iter_state() at {given_up.when.at} clears them is not known")

    def _switches(self) -> list[tuple[Switch, Relation]]:
        """What is in force at the backward before. Only where there are replicas, the all-reduce is one."""
        kinds = (SYNC, ALL_REDUCE) if in_replicas(self.program, self.obj).possibly else (SYNC,)
        return [
            (each, relation)
            for kind in kinds
            for each in switched(self.program, kind)
            if each.subject and (relation := self.program.relation(self.obj, each.subject)) is not Relation.NONE
            if each.driven_before(self.early) and each.together(self.early)
            if not leaves_parts_off(self.program, self.obj, each)
        ]

    def _used_before(self) -> Step[events.Stepped] | None:
        """A step between the backward and the clearing: a window ends that way."""
        for each in self.program.trace.of(events.Stepped):
            between = self.early.index < each.index < self.step.index or self._in_round_before(each)
            if between and each.guard.undriven.compatible(self.step.guard.undriven) and self._is_of_this(each):
                return each
        return None

    def _cut_short(self, used: Step[events.Stepped]) -> str:
        """Why the last rounds of a loop may make no step: an outer one goes on with what they leave."""
        loops = self.early.loops
        if len(loops) < 2 or shared_loop(used, self.early) is not loops[-1]:
            return ""
        asked = self.early.guard.undriven.beyond(used.guard.undriven)
        if not varies(asked) or ask_for_a_length(objects_in(asked)):
            return ""
        return f"whether the last round of the loop makes the step of {used.when.at} is not known"

    def _is_of_this(self, used: Step[events.Stepped]) -> bool:
        """A step of another model's optimizer leaves these gradients as they are."""
        trained = [*trained_by(self.program, used.subject)]
        return not trained or any(self.program.touches(self.obj, top) for top in trained)

    def _in_round_before(self, each: AnyStep) -> bool:
        """The clearing of a round comes before its backward: what follows that one belongs to it too."""
        return self.step.index < self.early.index < each.index and self.step.guard.undriven.implies(each.guard.undriven)

    def _undecided(self, switch: Switch) -> str:
        """Why the gradients may be reduced wherever this is reached."""
        if switch.what.off and self.step.index > self.early.index:
            return ""
        if shared_loop(self.step, self.early) is not (self.early.loops[-1] if self.early.loops else None):
            return "how many micro-batches come after the last step of the loop is not known"
        own = self.early.guard.undriven.beyond(self.step.guard.undriven)
        if self.step.index < self.early.index and self.step.guard.undriven.compatible(self.early.guard.undriven):
            return "whether the round before ends a window is not known"
        asked = [part for part in _parts(own) if not is_fork(part) and part is not switch.what.on]
        if not all(_names_a_setting(part) or self._is_of_data(part) for part in asked):
            return f"whether what {self.step.when.at} asks goes with what {switch.when.at} asks is not known"
        return ""

    def _is_of_data(self, formula: Formula) -> bool:
        """Is it asked of numbers that were computed, such as whether a loss is finite? No counter goes with those."""
        losses = [each.subject.atom for each in (self.early, self.late) if each.subject is not None]
        rest = [
            each for each in objects_in(formula) if not self.program.machine.is_setting(each)
        ]  # a limit is no counter
        return bool(rest) and all(each.atom in losses or _is_computed(each) for each in rest)

    def _helped(self) -> str:
        """Why they may be cleared after all."""
        learning = (self.program.top(model) for held in self.program.held_by.values() for model in held)
        others = (each for each in learning if not self.program.touches(self.obj, each))
        if any(self.program.concerned(each) and self._is_beside(each) for each in others):
            return f"of which models {self.early.when.at} computes gradients is not known"
        frozen = (each for each in self.program.trace.of(events.Frozen) if self.program.touches(self.obj, each.subject))
        if any(loop.node in self.early.loops for each in frozen for loop in self.program.loops(each)):
            return f"whether {self.label} is frozen at {self.early.when.at} is not known"
        for each in self.program.trace.of(events.Unshard):
            inside = self.early.index < each.index, each.index < self.step.index
            if all(inside) if self.early.index < self.step.index else any(inside):
                return "where the parameters are unsharded, zero_grad() may reach them"
        return ""

    def _is_beside(self, other: Obj) -> bool:
        """May another model be sharded in the same run?"""
        own, others = shardings(self.program, self.obj), shardings(self.program, other)
        return not own or any(is_there(others, self.early, step) for step in own)


def _parts(formula: Formula) -> Iterator[Formula]:
    """What is asked, without ``and``, ``or`` and ``not``."""
    if isinstance(formula, tuple) and formula and formula[0] in ("and", "or", "not"):
        for each in formula[1:]:
            yield from _parts(each)
    elif isinstance(formula, (tuple, frozenset)) and not (formula and isinstance(next(iter(formula)), str)):
        for each in formula:
            yield from _parts(each)
    elif not isinstance(formula, bool):
        yield formula


def _names_a_setting(formula: Formula) -> bool:
    """Which of several things of one kind does a job use, by name? That is one for all micro-batches."""
    return isinstance(formula, tuple) and formula[0] == "is" and isinstance(formula[2], str)


_OF_TENSORS = frozenset("isnan isinf isfinite item detach mean sum max min any all norm".split())


def _is_computed(unknown: Obj) -> bool:
    origin = unknown.atom.origin
    if unknown.atom.agreed:
        return True
    if origin.startswith(("torch.", "math.is")):
        return not origin.startswith(_MADE)
    called = [part[1] for part in unknown.path if is_call(part)]
    return bool(called) and called[0] in _OF_TENSORS


def shardings(program: Program, model: Obj) -> list[AnyStep]:
    return [step for step, _ in program.units(model, *RELATED)]


def is_there(shardings: list[AnyStep], *steps: AnyStep) -> bool:
    """May a model be sharded in a run that comes to all of these steps? Others are built for another setting."""
    return not shardings or any(all(map(unit.together, steps)) for unit in shardings)


Pair = tuple[Step[events.Backward], Step[events.Backward]]


def windows(program: Program, step: Step[events.Zeroed], model: Obj) -> Iterator[Pair]:
    """The backward before the gradients are cleared, and the next one after; none where there are not both.

    Where the last one does not come in each run, the one before may be the last.
    """
    sharded = shardings(program, model)
    backwards = [each for each in program.trace.of(events.Backward) if is_there(sharded, each)]
    before = [each for each in backwards if each.index < step.index and each.driven_before(step)]
    after = [each for each in backwards if each.index > step.index]
    rounds = [loop for loop in step.loops if not ends_behind(program.project, step, loop)]
    again = [each for each in backwards if any(loop in each.loops for loop in rounds)]
    late = after[0] if after else again[0] if again else None
    made = before if before and (before[-1] in again or not again) else again
    if made and late is not None:
        yield made[-1], late
        yield from ((each, late) for each in made[:-1] if _may_be_last(program, each, made[-1]))


def _may_be_last(program: Program, one: Step[events.Backward], last: Step[events.Backward]) -> bool:
    """Is there a run without the last one: on the other side of a branch, or where the loop is left before it?"""
    if one.loops[: len(last.loops)] != last.loops:
        return False
    ways = [formula for formula, _ in last.guard.without_literals(one.guard.literal_set).literals if is_fork(formula)]
    left = any(program.machine.fork_kinds.get(formula[1][1], 0) for formula in ways)
    return left or not one.guard.undriven.compatible(last.guard.undriven)
