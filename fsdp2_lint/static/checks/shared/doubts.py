"""The gate of findings: may the path that leads to one be that of models which are not sharded?

A program that serves several strategies asks the model, its tensors or the mesh which one it has before it. Where such
a question stays open, what happens behind it may never happen to a sharded model, so nothing is reported there.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....vocab.events.base import Event
from ....vocab.events.launch import CollectiveIssued
from ...domain import events
from ...domain.events import Step
from ...domain.formulas import Interned, atoms
from ...domain.path_conditions import PathCondition
from ...domain.values import Obj
from ...libraries.python.attempts import TypeOf
from ...libraries.torch.launch.meshes import Mesh, wanted_names
from ...libraries.torch.ranks.rank import alone
from .conditions import objects_in
from .program import Program

_OF_SHARDS = ("sharded", "dtensor")
_RANKS = (CollectiveIssued,)  # what keeps ranks apart hangs whatever is sharded


def doubtful(program: Program, event: Event) -> str:
    """Why a finding about this event would be no proof; empty where nothing speaks against it."""
    step = program.judged
    if step is not None and alone(program.machine, step.guard):
        return "the job has one rank here"
    if step is not None and (why := unproven(program, step.guard)):
        return why
    if step is None or isinstance(step.what, events.Sharded) or isinstance(event, _RANKS):
        return ""  # what shards needs nothing to be sharded before
    return on_path(program, step.guard, step.index)


def unproven(program: Program, path: PathCondition) -> str:
    """Why no run is known that takes this path."""
    if any(path.decide(failure) is True for failure in program.machine.failures):
        return "it happens only where something failed before, and its error was caught"
    return ""


def on_path(program: Program, path: PathCondition, before: int) -> str:
    """The same of one path, such as that on which a variable has one of its values."""
    sharded = [each for each in program.trace.of(events.Sharded) if each.index < before]
    meshes = _meshes(sharded)
    for formula, _ in path.literals if sharded else ():
        if all(each.guard.decide(formula) is None for each in sharded):
            if formula in path.blurred and any(each.guard.blurred for each in sharded):
                return "a condition on the way here, and one of the sharding, are too large to be compared"
            for atom in atoms(formula):
                if _hangs_on_cut(atom):
                    return "a condition on the way here was not followed to its end"
                if _of_several_ranks(atom, path, meshes):
                    continue
                if _tells_shards(atom, path) or any(_of_those(obj, meshes) for obj in objects_in(atom)):
                    return "a condition on the way here may tell sharded models from others"
    if sharded and all(_leaves_open(path, each.guard) for each in sharded):
        return "a condition of the sharding was not followed to its end"
    return ""


def _leaves_open(path: PathCondition, sharding: PathCondition) -> bool:
    """Does the sharding hang on what a call would have said that was cut? Other checks may exclude this path there."""
    return any(
        path.decide(formula) is None and any(map(_hangs_on_cut, atoms(formula))) for formula, _ in sharding.literals
    )


def _hangs_on_cut(atom: Interned) -> bool:
    return any(obj.atom.cut for obj in objects_in(atom))


def _tells_shards(atom: Interned, path: PathCondition) -> bool:
    asked = atom[1]
    about = isinstance(asked, tuple) and asked[0] in _OF_SHARDS or any(_is_type(obj) for obj in objects_in(atom))
    return about and path.decide(atom) is not True


def _is_type(obj: Obj) -> bool:
    """``type(parameter).__name__``: of a class that depends on whether it is sharded."""
    return obj.atom.state(TypeOf) is not None


def _meshes(sharded: Sequence[Step[events.Sharded]]) -> set[Obj]:
    """The meshes that models are sharded on."""
    given = (each.what.options.get("mesh") for each in sharded)
    return {obj for value in given for obj in objects_in(value)}


def _of_those(obj: Obj, meshes: set[Obj]) -> bool:
    """Is it read off one of the meshes, or off what they are slices of? A slice along other dimensions says nothing."""
    return any(obj.atom is mesh.atom and not _apart(obj, mesh) for mesh in meshes)


def _of_several_ranks(atom: Interned, path: PathCondition, meshes: set[Obj]) -> bool:
    """Does the path ask that a model is shared by more than one rank, as all are that matter?"""
    asked = atom[1]
    if atom[0] != "compared" or not isinstance(asked, Obj) or asked.item != ("()", "size", ()):
        return False
    return asked.parent in meshes and path.decide(("compared", asked, ">", 1)) is True


def _apart(one: Obj, other: Obj) -> bool:
    """Are the two slices of a mesh, or read off slices, by dimensions that it was made with and that differ?"""
    mine, its = (set(wanted_names(obj.path[0])) if obj.path else set() for obj in (one, other))
    mesh = one.atom.state(Mesh)
    known = set(mesh.names or ()) if mesh is not None else set()
    return bool(mine and its) and mine | its <= known and not mine & its
