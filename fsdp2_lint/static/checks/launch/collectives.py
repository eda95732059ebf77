"""The collectives that only some ranks reach."""

from __future__ import annotations

import itertools

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Moment, Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.formulas import Formula, atoms, intern, is_fork, negate
from ...domain.path_conditions import PathCondition
from ...domain.relations import Relation
from ...domain.values import Obj
from ...interpreter.expressions.conditions import mentions_rank
from ...interpreter.syntax import ends_early
from ...libraries.torch.ranks.groups import belongs_to
from ...libraries.torch.ranks.rank import INITIALISED, alone
from ..ranks.own_choices import own_choice
from ..ranks.rank_paths import rank_in_words, rank_literal, reduced, split_by_rank
from ..shared.objects import RELATED
from ..shared.program import AtStep, Program, call_name

_Gathering = events.Collective | events.Called | events.Backward
_GATHERING = (events.Collective, events.Called, events.Backward)
Gathering = Step[_Gathering]


def excluded_ranks(program: Program, step: AnyStep) -> Answer[tuple[Moment | None, str]]:
    """Do some ranks stay away from a step? Where they turn away, and in words, which ones come."""
    if alone(program.machine, step.guard):
        return program.excluded("the job has one rank here")
    unsure = ""
    path = step.guard.literals
    for position, (formula, truth) in enumerate(path):
        if path[: position + 1] in program.machine.refused:
            continue  # a rank that turns away here ends the job
        if isinstance(step.what, events.Collective) and belongs_to(program.machine, step.what.group, formula, truth):
            continue
        part = reduced(formula if truth else negate(formula), _without_errors(program, step, formula))
        if not mentions_rank(part):
            continue
        if (found := rank_literal(part)) is not None:
            return yes((_asked(step, formula), rank_in_words(*found)))
        unsure = "the condition on the rank may hold for all ranks of the group"
    return unknown(unsure) if unsure else program.excluded("no condition on the rank leads here")


def _without_errors(program: Program, step: AnyStep, formula: Formula) -> PathCondition:
    """The path of a step, in a run in which no ``try`` that the formula speaks of comes to a handler."""
    path = step.guard
    for atom in atoms(formula):
        if is_fork(atom) and atom[1][1] in program.machine.tries:
            path = path.add(("is", atom[1], 0)) or path
    return path


def _asked(step: AnyStep, formula: Formula) -> Moment | None:
    sites = step.kept_asked  # of the condition as it stands here, rather than of another that shares a part with it
    return next((sites[part] for part in (formula, *atoms(formula)) if part in sites), None)


class StaticCollection(AtStep[_Gathering]):
    @property
    def name(self) -> str:
        return call_name(self.step) or "the model's call"

    def needs_model(self) -> Answer[object]:
        """Collectives on a model are some only once it is sharded."""
        if isinstance(self.step.what, events.Collective) and self.step.subject is None:
            return self._group_made()
        subject = self._called_last() if isinstance(self.step.what, events.Backward) else self.step.subject
        if subject is None:
            return unknown("which model this is about is not known")
        if subject in self.program.machine.libraries.optimizers:
            return unknown("which model this is about is not known")
        # what is called inside a group that is gathered already gathers nothing more
        gathering = (Relation.SAME, Relation.CONTAINS) if isinstance(self.step.what, events.Called) else RELATED
        before = False
        for each, _ in self.program.units(subject, *gathering):
            if each.driven_before(self.step):
                if self._in_one_run(each):
                    return yes(True)
                before = True
        if before:
            return unknown("whether the model is sharded here depends on a condition that is too large to compare")
        if self.program.has_units(subject, Relation.MAY):
            return unknown("whether the model is sharded is not known")
        return self.program.nothing(subject, events.Sharded)

    def _in_one_run(self, sharding: AnyStep) -> bool:
        """Has any run both? Not known where this stands under a condition that was given up, and that may forbid it."""
        mine, theirs = self.step.guard, sharding.guard
        return not mine.blurred - theirs.blurred or mine.implies(theirs)

    def _called_last(self) -> Obj | None:
        """The model whose gradients a backward reduces: the last one that was called before it."""
        called = self.program.trace.latest(events.Called, before=self.step)
        return next((step.subject for step in called if step.what.hooked and len(step.what.inside) == 0), None)

    def excluded_ranks(self) -> Answer[tuple[Moment | None, str]]:
        return excluded_ranks(self.program, self.step)

    def decided_by_each(self) -> Answer[Place]:
        found = own_choice(self.program, self.step)
        if found.possibly and (why := self._not_of_all()):
            return unknown(why)
        if not found.possibly and self.program.partial:
            return unknown("no script was seen that runs this: its callers may do so on some ranks only")
        return found

    def _not_of_all(self) -> str:
        """Why it may need only some ranks of the job, or none."""
        what = self.step.what
        if not isinstance(what, events.Collective):
            return ""
        if what.group is not None:
            return "it runs on a group of its own"
        return "" if what.sure else "whether it gathers is decided elsewhere"

    def _group_made(self) -> Answer[object]:
        """The code asks whether a process group exists: did this program make one by then?"""
        question = intern(INITIALISED)
        asked = any(question in atoms(formula) for formula, _ in self.step.guard.literals)
        if not asked or self.program.partial:
            return yes(True)
        made = self.program.trace.of(events.ProcessGroup, events.Mesh, events.Sharded, before=self.step)
        return yes(True) if any(True for _ in made) else unknown("whether a process group exists by then is not known")

    def _unseen_elsewhere(self, mine: PathCondition | None, others: PathCondition) -> str:
        """Which code on paths of other ranks alone was not seen; what these ranks run as well keeps nobody apart."""
        here, there = set(), {}
        for unseen in self.program.trace.of(events.Unseen) if mine else ():
            theirs, rest = split_by_rank(unseen.guard)
            if mine and theirs and others.compatible(rest):
                if mine.compatible(theirs):
                    here.add(unseen.place)
                else:
                    there[unseen.place] = unseen
        found = next((unseen for place, unseen in there.items() if place not in here), None)
        return f"{found.what.who} ({found.when.at}) was not followed" if found is not None else ""

    def _since_ranks_part(self) -> tuple[int, ...]:
        """The activations in which ranks may go two ways: where one was cut, the other way was perhaps not run."""
        chain, frames = self.step.when.chain, self.step.frames
        outermost = len(frames) - 2
        for formula, _ in self.step.guard.literals:
            if (asked := _asked(self.step, formula)) is not None:
                same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(chain, asked.chain))
                outermost = min(outermost, sum(1 for _ in same))
        return frames[max(outermost, 0) :]

    def _leave_before(self, mine: PathCondition, other: AnyStep) -> bool:
        """Do the ranks that come here leave before another step, which those that turn away here come to?"""
        if self.step.guard.compatible(other.guard):
            return False
        path = self.step.guard.literals
        parts = (at for at, (formula, truth) in enumerate(path) if mentions_rank(reduced(formula)))
        elsewhere = self.step.guard.without_literals(frozenset(path[next(parts, 0) :])).add(mine.formula, False)
        return elsewhere is not None and elsewhere.compatible(other.guard)

    def _in_other_rounds(self, other: AnyStep) -> bool:
        """Is another step outside of a loop around this one, in each round of which all ranks have met before this?"""
        outside = set(self.program.loops(self.step)) - set(self.program.loops(other))
        around = {loop for loop in outside if not ends_early(loop.node)}
        met = self.program.trace.of(*_GATHERING, before=self.step) if around else ()
        return any(
            around.intersection(self.program.loops(each))
            for each in met
            if split_by_rank(each.guard)[0] is None and StaticCollection(self.program, each).needs_model().surely
        )

    def matched(self) -> Answer[Moment]:
        """Where the other ranks make the same call; unknown where what they do was not followed."""
        if why := self._not_of_all():
            return unknown(why)
        if self.program.machine.unfinished.intersection(self._since_ranks_part()):
            return unknown("the code behind it was not followed to its end")
        if self.program.machine.doomed.intersection(self._since_ranks_part()):
            return unknown("the job ends with an error here, as each rank may find out by itself")
        mine, others = split_by_rank(self.step.guard)
        if why := self._unseen_elsewhere(mine, others):
            return unknown(why)
        for other in self.program.alike(self.step):
            if isinstance(other.what, events.Called) and not other.what.hooked:
                continue
            if self._in_other_rounds(other):
                continue
            theirs, rest = split_by_rank(other.guard)
            if mine and theirs and other.place == self.step.place and not mine.compatible(theirs):
                return yes(other.when)  # the same call, with what the other ranks have
            if mine and others.compatible(rest) and self._leave_before(mine, other):
                return yes(other.when)
            if mine and theirs and others.compatible(rest):  # nothing but ranks may keep the two apart
                here, there = others.join(mine), rest.join(theirs)
                if here is None or there is None or not here.compatible(there):
                    return yes(other.when)
        return self.program.among(*_GATHERING)
