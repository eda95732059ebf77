"""What is put around modules besides ``fully_shard``."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.composition import Checkpointed, Compiled, ParametersExchanged, TensorParallelised, WrappedAgain
from .. import events
from ..handles import Program
from ..handles.composition import StaticComposition
from ..handles.program import RELATED
from ..trace import Step
from .producers import on

_WRAPPERS = ("DistributedDataParallel", "FullyShardedDataParallel")


@on(events.Wrapped)
def wrapped(program: Program, step: Step[events.Wrapped]) -> Iterator[Event]:
    by = step.what.by.rsplit(".", 1)[-1]
    if by in _WRAPPERS and step.subject is not None and program.concerned(step.subject):
        yield WrappedAgain(when=step.when, by=by, composition=StaticComposition(program, step, step.subject))


@on(events.Exchanged)
def exchanged(program: Program, step: Step[events.Exchanged]) -> Iterator[Event]:
    if step.subject is not None and program.concerned(step.subject):
        composition = StaticComposition(program, step, step.subject, tuple(RELATED), step.what.read)
        yield ParametersExchanged(when=step.when, name=step.what.name, composition=composition)


@on(events.Parallelised)
def parallelised(program: Program, step: Step[events.Parallelised]) -> Iterator[Event]:
    if step.subject is not None and program.concerned(step.subject):
        composition = StaticComposition(program, step, step.subject, tuple(RELATED))
        yield TensorParallelised(when=step.when, composition=composition)


@on(events.Checkpointed)
def checkpointed(program: Program, step: Step[events.Checkpointed]) -> Iterator[Event]:
    if step.subject is not None and program.concerned(step.subject):
        yield Checkpointed(when=step.when, composition=StaticComposition(program, step, step.subject))


@on(events.Compiled)
def compiled(program: Program, step: Step[events.Compiled]) -> Iterator[Event]:
    if step.subject is not None and program.concerned(step.subject):
        composition = StaticComposition(program, step, step.subject)
        yield Compiled(when=step.when, whole_graph=step.what.whole_graph, composition=composition)
