"""When the rules of this topic are asked: steps, ends of programs and texts turned into the events that they judge."""

from __future__ import annotations

from collections.abc import Iterator

from astroid import nodes

from ....vocab import defects
from ....vocab.events.base import Event
from ....vocab.events.checkpoints import Fsdp1ContextUsed
from ....vocab.events.migration import (
    ApiUsed,
    ClassCompared,
    DefectPossible,
    Exposed,
    Fsdp1Tested,
    Fsdp1Wrapped,
    Imported,
    ModuleAttributeRead,
    UnshardDropped,
    UnshardEntered,
)
from ....vocab.finding import Edit, Fix, Site, listed
from ...domain import events
from ...domain.events import Step
from ...domain.values import Obj
from ..initialisation.device_placement import offloaded
from ..shared.models import StaticModel
from ..shared.producers import at_end, in_module, in_project, on, on_concerned
from ..shared.program import Program
from ..shared.source_edits import inserted, replaced, site_of
from .api import StaticUse
from .by_hand import entered_by_hand
from .defects import DividedScatter, HookedGradients, ReducedInHalf, UnfrozenLater, computes_low, policies, replicated
from .fsdp1 import WITHOUT_ERROR, failure_is_caught, wrapped_events
from .fsdp1_tests import StaticTested
from .imports import imported_events, names_imported
from .migration_checks import ModuleOfFsdp2, RenamedClass, StaticConverted, StaticGathering

# -- what is left of FSDP1, DDP or an unsharded model at places that a module of FSDP2 comes to


@on_concerned(events.ModuleRead)
def module_read(program: Program, step: Step[events.ModuleRead], obj: Obj) -> Iterator[Event]:
    model = ModuleOfFsdp2(program, step, obj)
    yield ModuleAttributeRead(when=step.when, model=model, fix=_without_attribute(program, step))


def _without_attribute(program: Program, step: Step[events.ModuleRead]) -> Fix | None:
    """Drop ``.module``, where it is written right behind its owner."""
    edit = replaced(program, step.when.at.path, step.what.written, "")
    wrapped = any(True for _ in program.trace.of(events.Wrapped))  # then other runs may need it
    return Fix((edit,), safe=not wrapped) if edit is not None else None


@on(events.ClassCompared)
def class_compared(program: Program, step: Step[events.ClassCompared]) -> Iterator[Event]:
    if step.subject is not None:
        model = RenamedClass(program, step, step.subject)
        yield ClassCompared(when=step.when, model=model, with_what=listed(sorted(step.what.names)))


@on_concerned(events.UnshardEntered)
def unshard_entered(program: Program, step: Step[events.UnshardEntered], obj: Obj) -> Iterator[Event]:
    yield UnshardEntered(when=step.when, model=StaticConverted(program, step, obj))


@on_concerned(events.UnshardDropped)
def unshard_dropped(program: Program, step: Step[events.UnshardDropped], obj: Obj) -> Iterator[Event]:
    yield UnshardDropped(when=step.when, model=StaticGathering(program, step, obj))


@on(events.ApiUsed)
def api_used(program: Program, step: Step[events.ApiUsed]) -> Iterator[Event]:
    yield ApiUsed(when=step.when, name=step.what.name, use=StaticUse(program, step))


@on_concerned(events.Fsdp1Asked)
def fsdp1_asked(program: Program, step: Step[events.Fsdp1Asked], obj: Obj) -> Iterator[Event]:
    model = StaticTested(program, step, obj)
    yield Fsdp1Tested(when=step.when, model=model, fix=_other_class(program, step))


def _other_class(program: Program, step: Step[events.Fsdp1Asked]) -> Fix | None:
    """Name FSDPModule instead, and import it where the file does not know it yet.

    What the test guards may be written for FSDP1, so somebody has to look at it.
    """
    cls = step.what.written.args[1]
    path = step.when.at.path
    module = program.project.module(path)
    if module is None or cls.lineno != cls.end_lineno:
        return None
    if isinstance(cls, nodes.Attribute):
        start = cls.expr.end_col_offset + 1
        replaced = Edit(Site(path, cls.lineno, start + 1, cls.lineno, cls.end_col_offset + 1), "FSDPModule")
        return Fix((replaced,), safe=False)
    replaced = Edit(site_of(path, cls), "FSDPModule")
    if "FSDPModule" in module.bindings:
        return Fix((replaced,), safe=False)
    imports = [node for node in module.bindings.get(cls.name, ()) if isinstance(node, nodes.ImportFrom)]
    if len(imports) != 1 or not isinstance(imports[0].parent, nodes.Module):
        return None
    added = inserted(path, imports[0].end_lineno + 1, 1, "from torch.distributed.fsdp import FSDPModule\n")
    return Fix((added, replaced), safe=False)


@on_concerned(events.Fsdp1Context)
def fsdp1_context(program: Program, step: Step[events.Fsdp1Context], obj: Obj) -> Iterator[Event]:
    if step.what.name == WITHOUT_ERROR or not failure_is_caught(program.project, step.when.at):
        yield Fsdp1ContextUsed(when=step.when, name=step.what.name, model=StaticModel(program, obj, step))


# -- what torch does wrong in some versions, for programs that have the first of what that needs


@at_end
def defects_possible(program: Program) -> Iterator[Event]:
    for step in program.trace.of(events.Sharded):
        for defect, model in _defects(program, step, step.what.group[0]) if step.what.group else ():
            yield DefectPossible(when=step.when, defect=defect, model=model)


def _defects(program: Program, step: Step[events.Sharded], obj: Obj) -> Iterator[tuple[defects.Defect, Exposed]]:
    has_replicas = replicated(step)
    for path, policy in policies(step, "mp_policy"):
        if computes_low(policy, path):
            if program.trace.count(events.Frozen):
                yield defects.UNFROZEN_AFTER_FORWARD, UnfrozenLater(program, step, obj, path)
            if has_replicas:
                yield defects.BUFFER_OF_REPLICAS_REUSED, ReducedInHalf(program, step, obj, path, policy)
    if program.trace.count(events.ParamHook) and (offloading := offloaded(program, step)) is not None:
        yield defects.HOOK_BEFORE_COPY, HookedGradients(program, step, obj, offloading)
    if has_replicas and any(each.what.scatter for each in program.trace.of(events.Divided)):
        yield defects.REPLICAS_DIVIDE_AGAIN, DividedScatter(program, step, obj)


# -- what is seen in the text of files alone, whether or not a program comes there: the events that need no trace


in_module(Imported, imported_events)
in_module(ApiUsed, names_imported)
in_module(UnshardEntered, entered_by_hand)
in_project(Fsdp1Wrapped, wrapped_events)
