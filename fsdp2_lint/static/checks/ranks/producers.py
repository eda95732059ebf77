"""When the rules of this topic are asked: steps, ends of programs and texts turned into the events that they judge."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.events.base import Event
from ....vocab.events.ranks import BatchTrained, CollectiveRepeated, LoaderRead, SamplerMade, StepGuarded
from ...domain import events
from ...domain.events import Step
from ..shared.models import StaticModel
from ..shared.producers import at_end, on
from ..shared.program import Program
from .batches import StaticBatch
from .data import StaticEpochs, StaticKeptLoader, StaticSampler, trained_on
from .errors import StaticHandler, handlers_around
from .orders import StaticRounds
from .own_dealing import StaticOwnSampler, StaticSharedOrder


@on(events.Collective)
def repeated(program: Program, step: Step[events.Collective]) -> Iterator[Event]:
    rounds = StaticRounds(program, step)
    if program.machine.libraries.any_sharded and step.loops and rounds.applies():
        yield CollectiveRepeated(when=step.when, rounds=rounds)


@on(events.Sampler)
def sampler_made(program: Program, step: Step[events.Sampler]) -> Iterator[Event]:
    if program.machine.libraries.any_sharded:
        yield SamplerMade(when=step.when, sampler=StaticSampler(program, step))


@on(events.Loader)
def own_sampler_made(program: Program, step: Step[events.Loader]) -> Iterator[Event]:
    sampler = StaticOwnSampler(program, step)
    if program.machine.libraries.any_sharded and sampler.dealing() is not None:
        yield SamplerMade(when=step.when, sampler=sampler)


@on(events.OrderShared)
def order_shared(program: Program, step: Step[events.OrderShared]) -> Iterator[Event]:
    if program.machine.libraries.any_sharded:
        yield SamplerMade(when=step.when, sampler=StaticSharedOrder(program, step))


@on(events.LoaderRead)
def loader_read(program: Program, step: Step[events.LoaderRead]) -> Iterator[Event]:
    if program.machine.libraries.any_sharded:
        yield LoaderRead(when=step.when, epochs=StaticEpochs(program, step))


@at_end
def loaders_kept(program: Program) -> Iterator[Event]:
    """Loaders that no loop was seen to read, although a sampler shuffles for them."""
    read = {step.subject for step in program.trace.of(events.LoaderRead)}
    for step in program.trace.of(events.Loader) if program.machine.libraries.any_sharded else ():
        kept = StaticKeptLoader(program, step)
        if step.subject not in read and kept.is_shuffled():
            yield LoaderRead(when=step.when, epochs=kept)


@on(events.Called)
def batch_trained(program: Program, step: Step[events.Called]) -> Iterator[Event]:
    if step.subject is None or step.what.inside or not step.what.hooked or not program.concerned(step.subject):
        return
    if trained_on(program, step) is not None:
        model = StaticModel(program, step.subject, step)
        yield BatchTrained(when=step.when, batch=StaticBatch(program, step), model=model)


@on(events.Called, events.Backward)
def guarded(program: Program, step: Step[events.Called | events.Backward]) -> Iterator[Event]:
    """A root's call or a backward; what runs inside the call is behind it."""
    if (
        not program.machine.libraries.any_sharded
        or isinstance(step.what, events.Called)
        and (step.what.inside or not step.what.hooked)
    ):
        return
    for caught in handlers_around(program.project, step):
        handler = StaticHandler(program, step, caught)
        yield StepGuarded(when=handler.when, handler=handler)
