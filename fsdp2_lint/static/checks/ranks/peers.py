"""Ranks that hold parts of the same layers: do they get the same batch?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import Step
from ...domain.relations import Relation
from ...domain.values import NONE, Obj, Rank, Value
from ...interpreter.expressions.own_values import own_of
from ...libraries.torch.launch.meshes import dimensions
from ...libraries.torch.ranks.data import Loader, Sampler, seeds_of
from ...libraries.torch.ranks.seeds import Drawn, of_each_rank
from ..shared.program import Program
from .alike import same_on_all_ranks
from .data_sources import made_of
from .own_choices import agreed

_OF_THE_MODEL = (Relation.SAME, Relation.INSIDE)


def apart(program: Program, call: Step[events.Called]) -> Answer[tuple[Place, Place]]:
    """Where the global rank deals out what such ranks are to share, and where the model is divided among them."""
    why, nobody = "", program.excluded("no ranks were seen that share layers and not batches")
    if not any(_by_global_rank(program, source, any) for source in _sources(program, call)):
        return nobody
    for step in program.trace.of(events.LayersSplit, before=call):
        mesh = dimensions(step.what.mesh)
        if mesh is not None and all(size == 1 for size in mesh.sizes):
            continue
        if program.relation(step.subject, call.subject) not in _OF_THE_MODEL:
            continue
        if (path := call.guard.join(step.guard)) is None:
            continue
        with program.machine.on_path(path):
            sources = _sources(program, call)
            dealt = [_by_global_rank(program, source) for source in sources]
            owned = [own for source in sources if (own := own_of(program.machine, source)) is not None]
        if not owned or None in dealt:
            continue
        why = next((doubt for own in owned if (doubt := agreed(program, own, call))), "")
        if not why and dealt[0] is not None:
            divided = Place(step.when, "these ranks hold parts of the same layers, which need one input")
            return yes((dealt[0], divided))
    return unknown(why) if why else nobody


def _sources(program: Program, call: Step[events.Called]) -> list[Value]:
    return [value for value in made_of(program.machine, call.what.args) if _gives_samples(value)]


def _gives_samples(value: Value) -> bool:
    return isinstance(value, Obj) and (value.atom.state(Loader) is not None or value.atom.state(Drawn) is not None)


def _by_global_rank(program: Program, source: Value, of: Callable[[Iterable[bool]], bool] = all) -> Place | None:
    """Where samples are dealt out by the rank in the job, whatever (``all``) is chosen on the way."""
    loader = source.atom.state(Loader) if isinstance(source, Obj) else None
    drawn = source.atom.state(Drawn) if isinstance(source, Obj) else None
    if loader is not None:
        chosen = [leaf for _, leaf in program.machine.alternatives(loader.sampler)]
        samplers = [leaf.atom.state(Sampler) if isinstance(leaf, Obj) else None for leaf in chosen]
        if of(each is not None and each.by_rank and _is_global(each.rank) for each in samplers):
            first = next((each for each in samplers if each is not None), None)
            return Place(first.made.when, "this sampler splits the data by global rank") if first else None
        return None
    same = partial(same_on_all_ranks, program)
    seeds = [seeds_of(leaf.atom)[-1:] for leaf in program.machine.objects(drawn.by)] if drawn is not None else []
    if (
        drawn is not None
        and seeds
        and of(bool(each) and of_each_rank(program.machine, each[0], same) for each in seeds)
    ):
        return Place(drawn.made, "each rank in the job draws its own here")
    return None


def _is_global(rank: Value) -> bool:
    return rank == NONE or isinstance(rank, Rank) and rank.kind == "global"
