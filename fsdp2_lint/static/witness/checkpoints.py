"""What is saved and loaded."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.checkpoints import AsyncSaved, CheckpointLoaded, Fsdp1ContextUsed, KeysWritten, Loaded, Saved
from ..handles import Program, StaticAsyncSave, StaticKeys, StaticLoadTarget, StaticModel, StaticPayload
from ..trace import Step
from .producers import on


@on("saved")
def saved(program: Program, step: Step) -> Iterator[Event]:
    yield Saved(when=step.when, payload=StaticPayload(program, step), by=step["by"])


@on("loaded")
def loaded(program: Program, step: Step) -> Iterator[Event]:
    if step.subject is not None and program.concerned(step.subject):
        model = StaticModel(program, step.subject, step)
        yield Loaded(when=step.when, model=model, payload=StaticPayload(program, step))


@on("dcp_load")
def checkpoint_loaded(program: Program, step: Step) -> Iterator[Event]:
    if program.machine.any_sharded:
        yield CheckpointLoaded(when=step.when, payload=StaticLoadTarget(program, step))


@on("async_save")
def async_saved(program: Program, step: Step) -> Iterator[Event]:
    if program.machine.any_sharded:
        yield AsyncSaved(when=step.when, save=StaticAsyncSave(program, step))


@on("keys_written")
def keys_written(program: Program, step: Step) -> Iterator[Event]:
    if program.machine.any_sharded:
        yield KeysWritten(when=step.when, keys=StaticKeys(program, step), by=step["by"])


@on("fsdp1_context")
def fsdp1_context(program: Program, step: Step) -> Iterator[Event]:
    if step.subject is not None and program.concerned(step.subject):
        yield Fsdp1ContextUsed(when=step.when, name=step["name"], model=StaticModel(program, step.subject, step))
