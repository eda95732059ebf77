"""Setters that say what a backward does, and that stay until the next call: which are in force at a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from astroid import nodes

from ....vocab.answers import No, Unknown, unknown
from ....vocab.declared import record
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.formulas import Formula, atoms, negate
from ...domain.path_conditions import TRUE
from ...domain.relations import Relation
from ...domain.values import Obj, is_each
from ...libraries.python.counting import Enumerated
from .conditions import objects_in
from .last_rounds import at_last, never
from .objects import RELATED
from .program import OfStep, Program

SYNC = "set_requires_gradient_sync"
ALL_REDUCE = "set_requires_all_reduce"
RESHARD = "set_reshard_after_backward"
FINALIZE = "set_manual_backward_finalization"
FINISH = "finalize_backward"
Switch = Step[events.Sync] | Step[events.BackwardSwitched]
Reduction = Step[events.Backward] | Step[events.Finalized]


@record
class LeftOff(OfStep[events.InLoops]):
    """A model as ``step`` finds it after its last backward, and one of the setters."""

    switch: str

    def found(self) -> tuple[list[tuple[str, Place]], No | Unknown]:
        """What was off in that backward: (label, the call), and why there is nothing else."""
        found, rest = self._found()
        return (found, rest) if found else (found, in_order(self.program, self._switches(), rest))

    def _found(self) -> tuple[list[tuple[str, Place]], No | Unknown]:
        switches = [
            (each, relation)
            for each in self._switches()
            if each.subject and (relation := self.program.relation(self.obj, each.subject)) is not Relation.NONE
            if not leaves_parts_off(self.program, self.obj, each)
            if not any(never(formula, truth) for formula, truth in each.guard.literals)
        ]
        backward = self.last_backward() if switches else None
        nothing = self.program.nothing(self.obj, events.Sync if self.switch == SYNC else events.BackwardSwitched)
        if backward is None:
            return [], nothing
        before = [each for each in switches if each[0].driven_before(backward)]
        if all(each.what.off for each, _ in switches):  # then what an earlier round switched off stays so
            before = before or [each for each in switches if shared_loop(each[0], backward) is not None]
        if not before or not (before[-1][0].what.off or _off_at_last(before[-1][0], backward, self.step)):
            why = self._may_be_off(before[-1][0], backward) if before else ""
            return [], unknown(why) if why else nothing
        off, relation = before[-1]
        if not self._in_one_run(off):
            if shared_loop(off, self.step) is not None:
                return [], unknown(f"whether a later round finds what {off.when.at} switches off is not known")
            return [], self.program.excluded(f"{off.when.at} and this step exclude each other")
        if any(not each.what.off for each, _ in switches) and (other := self._in_other_rounds(backward)) is not None:
            return [], unknown(f"whether the backward of {other.when.at} is made in the last round is not known")
        if relation not in RELATED:
            return [], unknown(f"which groups {off.when.at} switches is not known")
        why = (
            self.program.managed(self.obj)
            or switched_elsewhere(self.program, self.obj, off, backward, self.switch)
            or next((why for each, _ in switches if (why := self._may_win(each, off, backward))), "")
        )
        if why:
            return [], unknown(why)
        label = self.program.label(off.subject) if off.subject else self.label
        value = str(self.switch == FINALIZE) if off.what.off else "True in another round than the last"
        return [(label, Place(off.when, f"{self.switch}({value})"))], nothing

    def _may_be_off(self, switch: Switch, backward: Reduction) -> str:
        """Why it may be off in the last round before the step, whatever it is in another one."""
        asked = [formula if truth else negate(formula) for formula, truth in switch.guard.literals]
        on = switch.what.on
        for each in (on, *asked):
            held = self.step.guard.decide(each) is True or backward.guard.decide(each) is True
            if isinstance(each, bool) or held or each is not on and not varies(each):
                continue
            if not varies(each):
                return f"whether {switch.when.at} leaves it off is for a setting to say"
            if not at_last(each, switch.guard.undriven, self.step.loops):
                return f"whether the last round is one in which {switch.when.at} switches on is not known"
        return may_not_come(switch, self.step)

    def _switches(self) -> list[Switch]:
        """The calls that say it. Whoever says whether gradients are reduced says that of replicas too."""
        own: list[Switch] = list(switched(self.program, self.switch))
        if own and self.switch == ALL_REDUCE:
            own.extend(switched(self.program, SYNC))
        return sorted(own, key=lambda each: each.index)

    def last_backward(self) -> Reduction | None:
        """Or what finishes it: that goes by the switches of its own time."""
        ends = self.program.trace.of(events.Backward) if self.switch == FINALIZE else reductions(self.program, self.obj)
        return next((each for each in reversed([*ends]) if each.driven_before(self.step)), None)

    def _in_other_rounds(self, backward: Reduction) -> Reduction | None:
        """Another one, in rounds of the loop in which this one is not made: it may come last."""
        for each in reductions(self.program, self.obj):
            loop = shared_loop(each, backward) if each.driven_before(self.step) else None
            exclusive = not each.guard.undriven.compatible(backward.guard.undriven)
            if loop is not None and loop not in self.step.loops and exclusive:
                return each
        return None

    def _in_one_run(self, off: Switch) -> bool:
        """May both happen in one run? Conditions on the round of a loop exclude each other in one round only."""
        if off.guard.undriven.compatible(self.step.guard.undriven):
            return True
        invariant = frozenset(part for part in off.guard.literals if not varies(part[0]))
        path = TRUE.join(off.guard.without_literals(off.guard.literal_set - invariant))
        return path is not None and path.compatible(self.step.guard.undriven)

    def _may_win(self, on: Switch, off: Switch, backward: Reduction) -> str:
        """Why another switch than ``off`` may be the last one before the backward, be it of an earlier round."""
        if on.what.off or _off_at_last(on, backward, self.step):
            return ""
        what = "gradient synchronisation" if self.switch == SYNC else f"what {self.switch} says"
        why = f"{what} may be switched on at {on.when.at}"
        if off.index < on.index < backward.index:
            return why
        again = backward.guard.undriven.implies(off.guard.undriven)  # does ``off`` run each time before it?
        if on.index < off.index:
            return "" if again else why
        shared = shared_loop(on, backward)
        if shared is None and not self.program.partial:
            return ""  # it comes when all is over
        return "" if again and (shared is None or shared in off.loops) else why


def _off_at_last(switch: Switch, backward: Reduction, step: Step[events.InLoops]) -> bool:
    """Is it off in the last round of a loop? A loop of as many rounds as a setting says is taken for one of several."""
    on = switch.what.on
    if isinstance(on, bool) or shared_loop(switch, backward) is None:
        return False
    found = at_last(on, switch.guard.undriven, step.loops)
    first = on[0] == "is" and isinstance(on[1], Obj) and is_each(on[1].item) and on[2] == 0
    return found is False or found is None and first


def may_not_come(switch: Switch, step: Step[events.InLoops]) -> str:
    """Why the round may not come in which it is on: behind a loop over batches, by another number than theirs."""
    on = switch.what.on
    if isinstance(on, bool) or not switch.loops or switch.loops[-1] in step.loops or step.guard.decide(on) is True:
        return ""
    asked = [[*objects_in(atom)] for atom in atoms(on)]
    counted = [each for each in asked if any(obj.atom.state(Enumerated) is not None for obj in each)]
    if all(map(ask_for_a_length, counted)):
        return ""
    return f"whether the loop comes to the round in which {switch.when.at} switches on is not known"


def ask_for_a_length(asked: Iterable[Obj]) -> bool:
    """Is the length of something among what a condition asks for, such as that of the loader?"""
    return any("len()" in (*each.path, each.atom.origin) for each in asked)


def trained_by(program: Program, optimizer: Obj | None) -> Iterator[Obj]:
    """The sharded models that an optimizer has parameters of."""
    for top in dict.fromkeys(program.top(model) for model in program.held_by.get(optimizer, ())):
        if program.concerned(top):
            yield top


def reductions(program: Program, obj: Obj) -> list[Reduction]:
    """What reduces gradients of a model: each backward, and what finishes one where the program says when."""
    found: list[Reduction] = [*program.trace.of(events.Backward)]
    found.extend(each for each in program.trace.of(events.Finalized) if program.touches(obj, each.subject))
    return sorted(found, key=lambda each: each.index)


def switched(program: Program, switch: str) -> Iterator[Switch]:
    """All calls of a setter that were seen."""
    if switch == SYNC:
        yield from program.trace.of(events.Sync)
    else:
        yield from (each for each in program.trace.of(events.BackwardSwitched) if each.what.name == switch)


def in_order(program: Program, switches: Iterable[Switch], rest: No | Unknown) -> No | Unknown:
    """Unknown where a context manager switches that was not followed as one: what it does at its end came too early."""
    for each in switches:
        if any(frame in program.machine.unentered for frame in each.frames):
            return unknown(f"when the context manager that switches at {each.when.at} is entered and left is not known")
    return rest


def leaves_parts_off(program: Program, obj: Obj, switch: Switch) -> bool:
    """Does it switch on for the group of the root alone, with ``recurse=False``, where other groups are inside?"""
    alone = switch.what.alone and not switch.what.off and switch.subject is not None
    return (
        alone and program.relation(obj, switch.subject) is Relation.SAME and program.has_units(obj, Relation.CONTAINS)
    )


def name_of(step: Switch) -> str:
    """Of the setter."""
    return step.what.name if isinstance(step.what, events.BackwardSwitched) else SYNC


def switched_elsewhere(program: Program, obj: Obj, after: AnyStep, before: AnyStep, switch: str = SYNC) -> str:
    """Why code that was not followed may switch it. It cannot where each switch of the project was seen."""
    why = called_unseen(program, switch, switched(program, switch))
    return program.escaped(obj, after=after, before=before) if why is UNSEEN else why


UNSEEN = "a call of it was not followed"


def called_unseen(program: Program, method: str, seen: Iterable[AnyStep]) -> str:
    """Why code that was not followed may call ``method``; empty where each place that speaks of it was ``seen``."""
    mentions = program.project.mentions
    if any(mentions(f"{quote}{method}{quote}{end}") for quote in "\"'" for end in (",", ")(")):
        return "the project asks for the switch by its name, as with getattr"
    if any(mentions(f".{method}{end}") for end in (",", ")")):
        return "the switch is handed on as a function, and who calls it when is not known"
    others = mentions(f".{method}") - len({each.when.at for each in seen})
    return "" if others <= 0 or others <= _in_dead_code(program, method) else UNSEEN


def _in_dead_code(program: Program, method: str) -> int:
    """How often functions that were followed speak of it below ``if False``."""
    found: set[nodes.NodeNG] = set()
    for function in program.machine.reached:
        for each in function.nodes_of_class(nodes.If):
            if isinstance(each.test, nodes.Const):
                never = each.orelse if each.test.value else each.body
                parts = (part for statement in never for part in statement.nodes_of_class(nodes.Attribute))
                found.update(part for part in parts if part.attrname == method)
    return len(found)


def varies(formula: Formula) -> bool:
    """Does a condition speak of the round of a loop?"""
    if isinstance(formula, Obj):
        return formula.atom.origin in ("range", "arithmetic", "a counter") or any(map(is_each, formula.path))
    return isinstance(formula, tuple) and any(map(varies, formula))


def shared_loop(one: Step[events.InLoops], other: Step[events.InLoops]) -> object | None:
    """The innermost loop in which both lie."""
    shared = [loop for loop in one.loops if loop in other.loops]
    return shared[-1] if shared else None
