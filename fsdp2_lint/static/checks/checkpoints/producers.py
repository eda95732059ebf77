"""When the rules of this topic are asked: steps, ends of programs and texts turned into the events that they judge."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.events.base import Event
from ....vocab.events.checkpoints import (
    AsyncSaved,
    CheckpointLoaded,
    CheckpointWritten,
    FileWritten,
    HelperCalled,
    KeysWritten,
    Loaded,
    OptimizerStateRead,
    Saved,
    SharedKeysWritten,
    StateGathered,
    StateMatched,
    StateSet,
)
from ...domain import events
from ...domain.events import Step
from ...domain.values import Obj
from ..shared.models import StaticModel
from ..shared.producers import on, on_concerned
from ..shared.program import Program
from .async_saves import StaticAsyncSave
from .load_targets import StaticLenient, StaticLoadTarget
from .optimizer_states import StaticWritten
from .payloads import StaticKeys, StaticPayload
from .shared_files import StaticSharedFile
from .shared_keys import StaticSharedKeys
from .state_helpers import StaticHelper


@on(events.Saved)
def saved(program: Program, step: Step[events.Saved]) -> Iterator[Event]:
    yield Saved(when=step.when, payload=StaticPayload(program, step), by=step.what.by)


@on(events.Saved)
def file_written(program: Program, step: Step[events.Saved]) -> Iterator[Event]:
    if program.machine.libraries.any_sharded:
        yield FileWritten(when=step.when, file=StaticSharedFile(program, step), by=step.what.by)


@on_concerned(events.Loaded)
def loaded(program: Program, step: Step[events.Loaded], obj: Obj) -> Iterator[Event]:
    model = StaticModel(program, obj, step)
    yield Loaded(when=step.when, model=model, payload=StaticPayload(program, step))
    yield StateMatched(when=step.when, loading=StaticLenient(program, step, obj))


@on(events.DcpLoad)
def checkpoint_loaded(program: Program, step: Step[events.DcpLoad]) -> Iterator[Event]:
    if program.machine.libraries.any_sharded:
        yield CheckpointLoaded(when=step.when, payload=StaticLoadTarget(program, step))
        yield StateMatched(when=step.when, loading=StaticLoadTarget(program, step))


@on(events.DcpSaved)
def checkpoint_written(program: Program, step: Step[events.DcpSaved]) -> Iterator[Event]:
    if program.machine.libraries.any_sharded:
        yield CheckpointWritten(when=step.when, written=StaticWritten(program, step), by=step.what.by)
        yield SharedKeysWritten(when=step.when, keys=StaticSharedKeys(program, step), by=step.what.by)


@on(events.AsyncSave)
def async_saved(program: Program, step: Step[events.AsyncSave]) -> Iterator[Event]:
    if program.machine.libraries.any_sharded:
        yield AsyncSaved(when=step.when, save=StaticAsyncSave(program, step))


@on(events.KeysWritten)
def keys_written(program: Program, step: Step[events.KeysWritten]) -> Iterator[Event]:
    if program.machine.libraries.any_sharded:
        yield KeysWritten(when=step.when, keys=StaticKeys(program, step), by=step.what.by)


@on(events.StateHelper)
def state_helper(program: Program, step: Step[events.StateHelper]) -> Iterator[Event]:
    helper = StaticHelper(program, step)
    yield HelperCalled(when=step.when, helper=helper)
    if helper.name.startswith("get") and step.subject is not None and program.concerned(step.subject):
        yield StateGathered(when=step.when, gathering=helper, model=StaticModel(program, step.subject, step))
        if step.what.optimizers:
            yield OptimizerStateRead(when=step.when, reading=helper)
    if helper.name.startswith("set"):
        yield StateSet(when=step.when, setting=helper)
        yield StateMatched(when=step.when, loading=helper)
