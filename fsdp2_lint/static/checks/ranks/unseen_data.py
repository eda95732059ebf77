"""Conditions on data that each rank may have for itself, since nobody saw where the data comes from."""

from __future__ import annotations

from ...domain.events import AnyStep
from ...domain.formulas import Formula, atoms
from ...domain.values import SOME, Obj, is_each
from ...frontend.packages import builds_models
from ...interpreter.expressions.own_values import ABOUT, asked_for
from ...libraries.computed import Element, ingredients
from ...libraries.torch.ranks.data import Loader
from ...libraries.words import describe
from ..shared.conditions import objects_in
from ..shared.program import Program
from .alike import is_asked_of_kind, same_on_all_ranks

_ASKS = frozenset({"truth", "compared", "is", "spelled"})  # and not of which class something is
_OF_TENSORS = frozenset("item any all sum mean max min tolist detach float bool".split())  # their numbers are its own


def undecided(program: Program, step: AnyStep, formula: Formula) -> str:
    """Why ranks may answer a condition on the way to ``step`` differently; empty where all surely answer alike."""
    for atom in atoms(formula):
        if isinstance(atom, bool) or atom[0] not in _ASKS:
            continue
        for obj in objects_in(atom[1:]):
            if found := _source(program, obj, step) or _not_proven(program, obj, step, atom):
                return f"whether {found} is the same on all ranks is not known"
    return ""


def _not_proven(program: Program, obj: Obj, step: AnyStep, atom: Formula) -> str:
    """What nobody said to be another one on each rank, nor to be the same on all."""
    if atom[0] == "is" and atom[2] is None or asked_for(program.machine, atom) is not None:
        return ""  # whether it is there at all; or it is judged by what makes it a rank's own
    if obj.atom.kind == "opaque" or obj.parent is None and obj.atom.kind in ("instance", "external"):
        return ""  # what is read from unseen code is taken for a setting; and a thing that was made is there
    given = any(program.first_given.get(at, step.index) < step.index for at in obj.above)
    same = given or is_asked_of_kind(obj) or same_on_all_ranks(program, obj, settings=True)
    return "" if same else describe(obj)


def _source(program: Program, obj: Obj, step: AnyStep) -> str:
    """What that was not seen it was made of, with no collective on the way that may have made the ranks agree."""
    pending, seen = [(obj, True)], {obj}
    while pending:
        at, asked = pending.pop()
        if program.first_given.get(at, step.index) < step.index or program.machine.per_rank(at) is False:
            continue
        if found := _of_data(program, at) or (_answered(program, at) if asked else ""):
            return found
        for how, part in ingredients(program.machine, at):
            if how not in ABOUT and part not in seen:
                seen.add(part)
                pending.append((part, part is not at.parent or how in _OF_TENSORS))
    return ""


def _of_data(program: Program, obj: Obj) -> str:
    """One of what a loop goes through that came from code that was not followed, or from a loader of torch."""
    element = obj.atom.state(Element)
    if obj.parent is None:
        return f"what {element.of} yields" if element is not None and not program.concerned(obj) else ""
    if not (is_each(obj.item) or obj.item == SOME):
        return ""
    if obj.atom.state(Loader) is None and not _is_unseen(program, obj):
        return ""
    return f"what {describe(obj.parent)} yields"


def _answered(program: Program, obj: Obj) -> str:
    """What a call of unseen code returned is asked itself; what is read from that is taken for a setting."""
    if obj.parent is not None or obj.atom.site is None or not _is_unseen(program, obj):
        return ""
    return f"the answer of {describe(obj)}"


def _is_unseen(program: Program, obj: Obj) -> bool:
    atom = obj.atom
    if atom.kind != "opaque" or atom.shared or atom.module or atom.framework or builds_models(atom.origin):
        return False
    return not program.concerned(atom.root) and not program.machine.libraries.optimizers.intersection(obj.above)
