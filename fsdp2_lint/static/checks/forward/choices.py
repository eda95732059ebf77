"""Conditions under which sharded modules run, and whether ranks answer them alike."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.answers import Answer, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Moment, Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.formulas import Formula, atoms
from ...domain.path_conditions import TRUE
from ...domain.relations import Relation
from ...domain.values import Const, Obj, Rank, is_call, is_each
from ...interpreter.expressions.own_values import Own, asked_for
from ...libraries.defaults import default_of
from ...libraries.torch.ranks.seeds import generator_of
from ..ranks.own_choices import agreed, out_of_loops
from ..ranks.random_numbers import drawn_alike, drawn_apart, seeded_before
from ..shared.conditions import objects_in
from ..shared.program import OfStep, Program

_LOADER = "torch.utils.data.DataLoader"
_WHOLE_NUMBERS = frozenset({"randint", "randrange", "randperm", "getrandbits", "permutation", "choice", "sample"})
_CONTENT = frozenset("any all item sum max min mean tolist".split())  # what a tensor holds, rather than its shape


@record
class StaticChoice(OfStep[events.Called]):
    """The call of a sharded module at ``step``, under a condition that was asked at ``asked``, on ``source``.

    The source is what the rank has for itself; a number that is drawn, or data of a batch; None: which rank it is.
    ``at``: what the condition decides itself: this call, or the end of a loop in which it comes again.
    """

    literal: tuple[Formula, bool]
    at: AnyStep
    asked: Moment
    source: Own | Obj | None

    def differs(self) -> Answer[Place]:
        if self.program.partial or self.program.open_why:
            return unknown(self.program.open_why or "no script was seen that runs this")
        if self._runs_anyway():
            return self.program.excluded("it runs on the other side of the condition too")
        if self.source is None:
            return yes(Place(self.asked, "the rank"))
        if isinstance(self.source, Own):
            if why := agreed(self.program, self.source, self.at):
                return unknown(why)
            return self._made_of_draws(self.source) if self.source.draw else yes(Place(self.asked, self.source.words))
        generator = generator_of(self.source)
        return self._drawn(generator) if generator else self._read(self.source)

    def _runs_anyway(self) -> bool:
        """Is the module also called where the condition is answered the other way?"""
        formula, truth = self.literal
        for other in self.program.trace.of(events.Called):
            if other is self.step or not other.what.hooked or other.subject is None:
                continue
            if self.program.relation(other.subject, self.obj) in (Relation.SAME, Relation.MAY):
                if other.guard.decide(formula) is (not truth):
                    return True
        return False

    def _made_of_draws(self, own: Own) -> Answer[Place]:
        """What is made of numbers between 0 and 1 may be compared with a rate of 0."""
        if not any(each.atom.origin.rpartition(".")[2] in _WHOLE_NUMBERS for each in own.via):
            return unknown("how often a number that is drawn leads there is not known")
        return self._drawn(own.draw)

    def _drawn(self, generator: str) -> Answer[Place]:
        if drawn_alike(self.program, generator, self.step):
            return self.program.excluded("all ranks draw the same numbers")
        if why := drawn_apart(self.program, generator, self.step):
            return unknown(why)
        seeded = "each rank seeds differently" if seeded_before(self.program, generator, self.step) else "nobody seeds"
        return yes(Place(self.asked, f"a random number, of a generator that {seeded}"))

    def _read(self, source: Obj) -> Answer[Place]:
        for step in self.program.trace.of(events.Collective):
            for value in step.what.given or ():
                if step.index < self.step.index and any(
                    isinstance(leaf, Obj) and leaf.atom is source.atom for _, leaf in self.program.machine.leaves(value)
                ):
                    return unknown(f"{step.when.at} may have made the ranks agree")
        if self.program.managed_by:
            return unknown(self.program.managed_by)
        return yes(Place(self.asked, "the contents of this rank's batch"))


def choices(program: Program, step: Step[events.Called], outer: Step[events.Called] | None) -> Iterator[StaticChoice]:
    """The conditions of this call that ranks may answer differently, and that were not asked before a forward began.

    ``outer`` is the call of the outermost module whose forward runs, if one does.
    What is checked and else refused by ``raise`` is none: a rank that answers otherwise ends the job.
    """
    assert step.subject is not None
    known = outer.guard.literal_set if outer is not None else TRUE.literal_set
    path = step.guard.literals
    for position, (formula, truth) in enumerate(path):
        if (formula, truth) in known or path[: position + 1] in program.machine.refused:
            continue
        for atom in atoms(formula):
            if _is_rank(formula) and outer is not None and atom in step.asked:
                yield StaticChoice(program, step, step.subject, (formula, truth), step, step.asked[atom], None)
            own = asked_for(program.machine, atom) if outer is not None else None
            if own is not None and not (own.draw and any(map(generator_of, objects_in(atom)))):
                asked = step.kept_asked.get(atom, step.when)
                yield StaticChoice(program, step, step.subject, (formula, truth), step, asked, own)
                continue
            for obj in objects_in(atom):
                if _is_draw(program, atom, obj) or _is_content(obj):
                    asked = Moment(obj.atom.site) if generator_of(obj) and obj.atom.site else step.when
                    yield StaticChoice(program, step, step.subject, (formula, truth), step, asked, obj)
    if outer is not None:
        yield from _further_rounds(program, step, outer)
        yield from _own_rounds(program, step, outer)


def _further_rounds(program: Program, step: Step[events.Called], outer: Step[events.Called]) -> Iterator[StaticChoice]:
    """A loop of the forward that a rank leaves for itself: the call comes again on those that stay."""
    assert step.subject is not None
    if next(iter(program.trace.of(events.LoopLeft, after=outer)), None) is None:
        return
    around = {(loop.node, loop.calls) for loop in program.loops(outer)}
    for left, formula, truth, atom, own in out_of_loops(program, step, alive=False):
        within = isinstance(left.what, events.LoopLeft) and around.isdisjoint(
            (loop, left.when.stack) for loop in left.what.loops
        )
        if within and left.index > outer.index and not own.draw:
            asked = left.kept_asked.get(atom, left.when)
            yield StaticChoice(program, step, step.subject, (formula, not truth), left, asked, own)


def _own_rounds(program: Program, step: Step[events.Called], outer: Step[events.Called]) -> Iterator[StaticChoice]:
    """A loop of the forward that a rank goes round as often as a number of its own says."""
    assert step.subject is not None
    around = program.loops(outer)
    for loop in program.loops(step):
        own = program.machine.own_rounds.get(loop.node)
        if own is None or loop in around or own.draw and drawn_alike(program, own.draw, step):
            continue
        rounds = ("truth", ("rounds", loop.site, loop.calls))
        yield StaticChoice(program, step, step.subject, (rounds, True), step, Moment(loop.site, loop.calls), own)


def _is_rank(formula: Formula) -> bool:
    """Is all that is asked which rank this is? Ranks of a mesh's dimension may hold other parts of a model."""
    if formula[0] == "not":
        return _is_rank(formula[1])
    return formula[0] == "is" and isinstance(formula[1], Rank) and formula[1].kind in ("global", "local")


def _is_draw(program: Program, atom: Formula, obj: Obj) -> bool:
    """A drawn number, compared with a rate. One of 0, in the source or by default, draws in vain."""
    if not generator_of(obj):
        return False
    asked = atom[1]
    if isinstance(asked, tuple) and asked[0] in ("equal", "compare"):
        return not any(default_of(program.machine, side) in (Const(0), Const(0.0)) for side in asked[1:])
    if atom[0] == "compared":
        return atom[3] not in (0, 1)
    return atom[0] == "is" and isinstance(atom[2], (int, str)) and not isinstance(atom[2], bool)


def _is_content(obj: Obj) -> bool:
    """What tensors of a batch hold: ``batch["mask"].any()``, where the batch comes out of a DataLoader."""
    called = [item[1] for item in obj.path if is_call(item)]
    return obj.atom.origin.endswith(_LOADER) and any(map(is_each, obj.path)) and any(n in _CONTENT for n in called)
